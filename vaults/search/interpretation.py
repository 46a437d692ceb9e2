"""Interpreting a question with the vault's vocabulary. No I/O except looking words up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from vaults.db.sql import Reader
from vaults.search import languages
from vaults.search.query import Query, correct_terms, parse_literal
from vaults.search.question import InterpretedQuestion
from vaults.search.stopwords import STOPWORDS
from vaults.search.vocabulary import Vocabulary, VocabularyWord, find_named
from vaults.settings import SearchSettings

if TYPE_CHECKING:
    from vaults.search.foreign_words import ForeignReading

MIN_PASSAGES = 20
"""Passages below which a word's share says nothing about it."""

_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"\w+|\W+")
_CAPITAL = re.compile(r"\b[^\W\d_a-z]\w*")


def words_to_look_up(query: Query) -> tuple[str, ...]:
    """The words of a query to look up: its terms, except prefixes, and what is written as a name."""
    plain = (term for term in query.terms if term not in query.prefixes)
    return tuple(dict.fromkeys((*plain, *capitalized_words(query.text))))


def interpret(
    vocabulary: Vocabulary, tx: Reader, query: Query, settings: SearchSettings, viewer: str = ""
) -> tuple[InterpretedQuestion, Mapping[str, VocabularyWord]]:
    """The question as the vault understands it, as of this read, and what the vocabulary knows of its words."""
    known = vocabulary.look(tx, words_to_look_up(query), correct=settings.corrections, viewer=viewer)
    from vaults.search import foreign_words

    reading = foreign_words.read_foreign(vocabulary, tx, query, viewer)
    if reading is foreign_words.ENGLISH_ONLY:
        return interpret_known(query, known, vocabulary.passages, settings), known
    meant = interpret_known(query, _without_slips(known, reading), vocabulary.passages, settings)
    slips = reading.slips if settings.corrections else {}
    return replace(meant, query=correct_terms(reading.add_to(meant.query), slips)), known


def _without_slips(known: Mapping[str, VocabularyWord], reading: ForeignReading) -> dict[str, VocabularyWord]:
    """A word that the vault has in another form is no slip, nor one whose slip was looked for in its own language."""
    settled = {*reading.forms, *(known if reading.language not in (None, "german") else ())}
    return {word: replace(about, meant=None) if word in settled else about for word, about in known.items()}


def interpret_known(
    query: Query, known: Mapping[str, VocabularyWord], passages: int, settings: SearchSettings
) -> InterpretedQuestion:
    """Interpret a question with ``known``, the vocabulary's entries for its words. Pure.

    The model is not given words that a great share of the passages holds, nor names of authors: they drown what is
    asked about them, and count as words and as lifts anyway. In a big vault, common words are not searched for.
    """
    shares_count = passages >= MIN_PASSAGES
    everywhere = {word for word, about in known.items() if shares_count and about.share > settings.frequent_share}
    named = find_named(known, words_to_look_up(query), capitalized_words(query.text))
    not_embedded = (everywhere - STOPWORDS).union(*named.values())
    slips = {word: about.meant for word, about in known.items() if about.meant is not None}
    if slips and languages.is_foreign(_WORD.findall(query.text.lower())):
        slips = {}
    common = _find_common(query, known, passages, settings)
    searched = replace(query, terms=tuple(term for term in query.terms if term not in common))
    return InterpretedQuestion(
        query=correct_terms(searched, slips),
        embedded_text=_remove_words(query.text, not_embedded),
        names=frozenset(named),
        common=common,
        passages=passages,
        shares={word: about.share for word, about in known.items()},
        slips=slips,
    )


def _find_common(
    query: Query, known: Mapping[str, VocabularyWord], passages: int, settings: SearchSettings
) -> tuple[str, ...]:
    if passages < settings.common_from or query.must is not None:
        return ()
    common = tuple(term for term in query.terms if term in known and known[term].share > settings.common_share)
    if len(common) < len(query.terms):
        return common
    rarest = min(common, key=lambda term: known[term].share, default=None)
    return tuple(term for term in common if term != rarest)


def _remove_words(text: str, not_embedded: set[str]) -> str:
    if not not_embedded:
        return text
    left = "".join(part for part in _PARTS.findall(text) if part.lower() not in not_embedded)
    return left if any(word.lower() not in STOPWORDS for word in re.findall(r"\w+", left)) else text


def capitalized_words(text: str) -> list[str]:
    """Capitalised words, in lower case; not the first word, which has a capital anyway."""
    return [match.group().lower() for match in _CAPITAL.finditer(text[:2000]) if match.start() > 0][:48]


def drop_operators(strict: InterpretedQuestion) -> InterpretedQuestion:
    """The same words without what operators require: when nothing satisfies it, near matches beat no answer."""
    query = parse_literal(strict.query.text)
    warning = "nothing has all that the quotes or operators ask for: searched for the words alone"
    return replace(strict, query=replace(query, warnings=(*strict.query.warnings, warning)))

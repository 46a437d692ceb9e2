"""A question's words in the languages of the vault: which language it is in, and the forms of its words that stand in
the vault. A vault that is in English alone, and an English question anywhere, are left as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaults.db.sql import Reader
from vaults.index.stemming import stem_as_indexed
from vaults.search import languages
from vaults.search.fts_expression import split_words
from vaults.search.languages import grammar
from vaults.search.query import MAX_TERMS, Query
from vaults.search.vault_languages import COMMON_SHARE, find_own_forms, own_languages
from vaults.search.vocabulary import Vocabulary
from vaults.search.word_forms import fold


@dataclass(frozen=True, slots=True)
class ForeignReading:
    """What a question's words mean in languages of the vault. ``language``: the one it is in, if its words of grammar
    tell. ``forms``: by term, other words of the vault with the same stem, as ``inflections.find_forms`` gives them.
    ``slips``: terms to the words of the vault they were probably meant to be."""

    language: str | None = None
    forms: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    slips: Mapping[str, str] = field(default_factory=dict)

    def add_to(self, query: Query) -> Query:
        """The query without the words of grammar of its language, and with the forms of the others."""
        terms = query.terms
        if self.language is not None:
            idle = grammar.read_grammar(self.language)
            terms = tuple(term for term in terms if term not in idle or term in query.prefixes) or terms
        groups = tuple((term, *(form[0] for form in self.forms[term])) for term in terms if term in self.forms)
        several = dict.fromkeys((*terms, *(word for group in groups for word in group)))
        marked = dict.fromkeys(word for term in terms for form in self.forms.get(term, ()) for word in form[1:])
        kept = tuple(several)[: max(MAX_TERMS, len(terms))]
        searched = (tuple(word for word in group if word in kept) for group in groups)
        return replace(query, terms=kept, groups=tuple(searched), marked=tuple(marked))


ENGLISH_ONLY = ForeignReading()


def read_foreign(vocabulary: Vocabulary, tx: Reader, query: Query, viewer: str) -> ForeignReading:
    """Look up what is not English in a question. One without a word of grammar may be in any language that is common in
    the vault, except for its words that are English ones."""
    weights = grammar.weigh_languages(split_words(query.text[:2000]))
    english = weights.pop(grammar.ENGLISH, 0.0)
    if english and english >= max(weights.values(), default=0.0):
        return ENGLISH_ONLY
    shares = vocabulary.languages(tx)
    own = own_languages(tx, viewer, weights)
    told = grammar.tell_language({**weights, grammar.ENGLISH: english}, {*shares, *own})
    if told == grammar.ENGLISH or not (shares or own):
        return ENGLISH_ONLY
    asked = (told,) if told else tuple(each for each, share in shares.items() if share >= COMMON_SHARE)
    terms = _telling_terms(query, told)
    forms: dict[str, tuple[tuple[str, ...], ...]] = {}
    for term in terms if asked else ():
        found = [form for language in asked for form in vocabulary.forms(tx, term, language)]
        found += [form for language in own & {*asked} for form in find_own_forms(tx, term, language, viewer)]
        by_stem = {stem_as_indexed(form[0]): form for form in reversed(found)}
        by_stem.pop(stem_as_indexed(fold(term)), None)
        if by_stem:
            forms[term] = tuple(reversed(by_stem.values()))
    doubtful = [term for term in terms if term not in forms]
    return ForeignReading(told, forms, _find_slips(vocabulary, tx, doubtful, told, viewer))


def _telling_terms(query: Query, told: str | None) -> list[str]:
    """The terms that forms are looked for of: whole words, without those of grammar; English ones only in a question
    whose language is known."""
    idle = grammar.read_grammar(told) if told else frozenset[str]()
    whole = (term for term in query.terms if term not in query.prefixes and term not in idle)
    return [term for term in whole if told or not languages.is_english(term)]


def _find_slips(
    vocabulary: Vocabulary, tx: Reader, words: Sequence[str], told: str | None, viewer: str
) -> dict[str, str]:
    """Slips in a question whose language is known: of German words those with an umlaut, the others are corrected like
    English ones."""
    if told is None:
        return {}
    doubtful = [word for word in words if not (told == "german" and word.isascii())]
    found = {
        word: vocabulary.foreign_slip(tx, word, viewer)
        for word in doubtful
        if not languages.is_common(_written_out(word))
    }
    return {word: meant for word, meant in found.items() if meant}


def _written_out(word: str) -> str:
    """As the list of German words has it."""
    return word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")

"""The vault's own words: how many passages hold one, whose name it is, and which one a slip was meant to be.

Entries are cached until the vault has changed noticeably: shares only matter for words in a third of it. A word found
nowhere is looked up each time, though: it may have been stored since, and is then no slip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from vaults.db.sql import Reader
from vaults.index import embeddings, text_index
from vaults.index.stemming import stem_as_indexed
from vaults.search import languages, spelling
from vaults.search.fts_expression import prefix_expression, quote_words
from vaults.search.word_forms import fold

EXACT_UP_TO = 2_000
"""Passages up to which any change counts; above, one in twenty."""

SpellingCorrector: TypeAlias = Callable[[str, Iterable[str]], str | None]

MAX_WORDS = 20_000
"""Words cached at most."""

MAX_STEMS_TRIED = 5
"""Stems tried for a slip, at most: the nearest may occur in private text alone."""

PASSAGES_READ = 5
"""Passages read to see how a word is written."""

MAX_PREFIXES = 500
"""Prefixes whose stems, and words whose forms, are cached at most."""

MAX_FORMS = 12
"""Forms of a word, at most."""

MAX_NAMES = 20
"""Authors and entities that one word may begin, at most."""

BIG_VAULT = 100_000
"""Passages above which no look-up may read all rows that hold a word: shares are sampled, and a slip is compared with
stems that begin with the same two letters instead of one, above four times as many with the same three."""

EXACT_SHARE_UP_TO = 2_000
"""Passages of a big vault up to which a word's share is exact."""

STRETCHES, STRETCH = 10, 2_000
"""The sample for the share of a commoner word: so many stretches, evenly spread, of so many passage numbers."""


@dataclass(frozen=True, slots=True)
class VocabularyWord:
    """``share`` of passages that hold it, 0…1, counted no further than ``SHARE_CAP``. ``names``: authors and entities
    whose name it is or begins. ``meant``: the word it was probably a slip for, as the vault writes it, if no shared
    passage and no known language has it."""

    share: float
    names: tuple[str, ...] = ()
    meant: str | None = None


SHARE_CAP = 0.5
"""Share above which the exact figure does not matter."""


@dataclass(frozen=True, slots=True)
class _CorpusSize:
    """The amount of shared text, in passages and in words, and the last change of any vector."""

    passages: int
    words: int
    change: int

    def has_moved_from(self, old: _CorpusSize) -> bool:
        """Whether a twentieth of the text came or went."""
        pairs = ((self.passages, old.passages), (self.words, old.words))
        return any(abs(new - was) > was // 20 for new, was in pairs)


@dataclass(slots=True)
class Vocabulary:
    """Caches what is known of words. One per open vault, filled in readers' threads, read on the event loop; each entry
    is written once."""

    passages: int = 0
    _marks: _CorpusSize | None = None
    _words: dict[str, VocabularyWord] = field(default_factory=dict)
    _stems: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _forms: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    _languages: dict[str, float] | None = None

    def known(self, words: Collection[str]) -> dict[str, VocabularyWord]:
        """The cached entries of ``words``."""
        cached = self._words
        return {word: cached[word] for word in words if word in cached}

    def look(self, tx: Reader, words: Iterable[str], *, correct: bool, viewer: str = "") -> dict[str, VocabularyWord]:
        """Look up all of ``words``, as of this read. A word in ``viewer``'s private text is no slip of theirs."""
        self._renew(tx)
        if len(self._words) > MAX_WORDS:
            self._words = {}
        cached, found, sought = self._words, {}, tuple(words)
        # Names are looked up each time: they change without any change of a passage's words.
        names = _find_names(tx, sought)
        for word in sought:
            known = cached.get(word)
            if known is None or ((known.meant or not known.share) and not _is_still_unknown(tx, word, known)):
                known = self._read(tx, word, correct=correct)
            cached[word] = replace(known, names=names[word])
            own = known.meant is not None and text_index.is_own(tx, quote_words(word), viewer)
            found[word] = replace(cached[word], meant=None) if own else cached[word]
        return found

    def clear(self) -> None:
        """Forget all."""
        self.passages, self._marks, self._words, self._stems, self._forms = 0, None, {}, {}, {}
        self._languages = None

    def languages(self, tx: Reader) -> Mapping[str, float]:
        """The languages beside English that the vault's passages are in, with their share. After ``look``."""
        from vaults.search import vault_languages

        found = self._languages
        if found is None:
            self._languages = found = vault_languages.read_shares(tx)
        return found

    def forms(self, tx: Reader, word: str, language: str) -> tuple[tuple[str, ...], ...]:
        """Forms of ``word`` in shared passages, as ``inflections.find_forms`` gives them. After ``look``."""
        from vaults.search import vault_languages

        found = self._forms.get((word, language))
        if found is None:
            found = tuple(vault_languages.find_shared_forms(tx, word, language)[:MAX_FORMS])
            self._forms = {**(self._forms if len(self._forms) < MAX_PREFIXES else {}), (word, language): found}
        return found

    def _renew(self, tx: Reader) -> None:
        passages, words = text_index.read_size(tx, text_index.SHARED_WORDS)
        # The change of vectors stands for changed and purged text, which keeps none. In a bigger vault only shared text
        # renews the shares, so that the time of a renewal does not tell what others store.
        marks = _CorpusSize(passages, words, embeddings.last_change(tx))
        if self._marks is None or (
            marks != self._marks if self.passages <= EXACT_UP_TO else marks.has_moved_from(self._marks)
        ):
            self.clear()
            self._marks = marks
            self.passages = passages

    def _read(self, tx: Reader, word: str, *, correct: bool) -> VocabularyWord:
        share = self._share(tx, word)
        # A word that only private passages hold counts as found nowhere: whether it is corrected must not tell of them.
        unknown = correct and not languages.is_common(word) and not text_index.is_shared(tx, quote_words(word))
        return VocabularyWord(share, meant=self._meant(tx, word) if unknown else None)

    def _share(self, tx: Reader, word: str) -> float:
        passages, big = max(1, self.passages), self.passages > BIG_VAULT
        limit = EXACT_SHARE_UP_TO if big else max(1, int(passages * SHARE_CAP))
        exact = text_index.count_shared(tx, quote_words(word), limit) / passages
        return (
            max(exact, _sample_share(tx, quote_words(word))) if big and exact >= EXACT_SHARE_UP_TO / passages else exact
        )

    def foreign_slip(self, tx: Reader, word: str, viewer: str) -> str | None:
        """The word that one of another language than English was probably meant to be; None if it stands in a passage
        that the viewer may read. After ``look``."""
        held = text_index.is_shared(tx, quote_words(word)) or text_index.is_own(tx, quote_words(word), viewer)
        return None if held else self._meant(tx, fold(word), spelling.correct_foreign_word)

    def _meant(self, tx: Reader, word: str, correct: SpellingCorrector = spelling.correct_word) -> str | None:
        """The word a slip was meant to be, of words that anybody may read, because the answer will name it."""
        beginnings = self._beginning(tx, word[: 1 + (self.passages > BIG_VAULT) + (self.passages > 4 * BIG_VAULT)])
        own = stem_as_indexed(word)  # if it occurs at all, then in private text
        stems: Sequence[str] = [stem for stem in beginnings if stem != own]
        for _ in range(MAX_STEMS_TRIED):
            found = correct(word, stems)
            if found is None or (written := _find_spelling(tx, found, word)):
                return written if found else None
            stems = [stem for stem in stems if stem != found]
        return None

    def _beginning(self, tx: Reader, letters: str) -> tuple[str, ...]:
        stems = self._stems.get(letters)
        if stems is None:
            stems = text_index.list_stems(tx, letters)
            self._stems = {**(self._stems if len(self._stems) < MAX_PREFIXES else {}), letters: stems}
        return stems


def _sample_share(tx: Reader, expression: str) -> float:
    """The share of passages that match, from the same stretches of numbers each time: to within half a hundredth."""
    newest, matched, counted = text_index.newest_shared(tx), 0, 0
    for number in range(STRETCHES):
        first = number * (newest - STRETCH) // (STRETCHES - 1)
        matching, there = text_index.count_shared_among(tx, expression, first, first + STRETCH)
        matched, counted = matched + matching, counted + there
    return matched / max(1, counted)


def _is_still_unknown(tx: Reader, word: str, known: VocabularyWord) -> bool:
    """Whether a word found nowhere still is nowhere, and the word it was taken for can still be read by anybody."""
    return not text_index.is_shared(tx, quote_words(word)) and (
        known.meant is None or text_index.is_shared(tx, quote_words(known.meant.lower()))
    )


def _find_spelling(tx: Reader, found: str, typed: str) -> str | None:
    """A word with the stem ``found`` as people write it: the one nearest to what was typed, from a few passages that
    anybody may read."""
    from rapidfuzz.distance import OSA

    texts = text_index.read_shared(tx, prefix_expression(found), PASSAGES_READ)
    words = {word for text in texts for word in _LETTERS.findall(text) if stem_as_indexed(fold(word)) == found}
    return min(words, key=lambda word: (OSA.distance(fold(word), typed), word), default=None)


_LETTERS = re.compile(r"[^\W\d_]+")


def _next_name(column: str, word: str, last: str) -> str:
    """SQL of the next name after ``last`` in a column that is a word or begins with it."""
    return (
        f"SELECT {column} FROM passages WHERE {column} >= {word} AND {column} < {word} || '!' AND {column} > {last}"
        f" AND owner IS NULL AND hidden = 0 ORDER BY {column} LIMIT 1"
    )


_AUTHOR, _ENTITY = (_next_name(column, "w.value", "''") for column in ("author", "entity"))
_FIRST_NAMES = f"({_AUTHOR}), ({_ENTITY})"


def _find_names(tx: Reader, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each word names that are it or begin with it, of items that are nobody's own. Each costs one step in an
    index, however many passages carry it."""
    rows = tx.all(f"SELECT {_FIRST_NAMES} FROM json_each(:words) w", {"words": json.dumps(words)}) if words else []
    return {word: _list_names(tx, word, row) if any(row) else () for word, row in zip(words, rows, strict=True)}


def _list_names(tx: Reader, word: str, first: Sequence[str | None]) -> tuple[str, ...]:
    """``first``: the first author and the first entity of that name, if there are any."""
    found: list[str] = []
    for column, name in zip(("author", "entity"), first, strict=True):
        last = name
        while last is not None and len(found) < MAX_NAMES:
            found.append(last)
            last = tx.value(_next_name(column, ":word", ":last"), {"word": word, "last": last})
    return tuple(name for name in dict.fromkeys(found) if name == word or name.startswith(f"{word} "))


def find_named(
    words: Mapping[str, VocabularyWord], text: Collection[str], capitals: Collection[str]
) -> dict[str, frozenset[str]]:
    """The names in a question, each with the words that name it there: all of its words stand in the question, or its
    first one with a capital, as a person is called by the first name."""
    found: dict[str, frozenset[str]] = {}
    for word, known in words.items():
        for name in known.names:
            parts = frozenset(name.split())
            if parts <= set(text):
                found[name] = parts
            elif word in capitals and len(word) > 2:
                found[name] = frozenset([word])
    return found

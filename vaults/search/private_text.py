"""Keyword scores of the caller's private text, its words weighed by what the caller may see: shared text and their own.

Everybody's private text shares one index, whose bm25 weighs a word by all rows that hold it, and so would tell one
person what others wrote. That bm25 is taken apart here: how often a word stands in a passage is the passage's own. The
score is then put together again as SQLite would do it over shared text and the caller's own alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader

_K1, _B, _LEAST = 1.2, 0.75, 1e-6
"""Constants of FTS5's bm25; the last is what a word in more than half of the rows weighs."""

_PHRASE = re.compile(r'(?:\w+ : )?"[^"]*"\*?')


@dataclass(frozen=True, slots=True)
class TextIndex:
    """Two full-text tables of shared and of private passages, with the same columns, and these columns' weights."""

    shared: str
    private: str
    weights: tuple[float, ...]

    def score(self, table: str) -> str:
        """SQL of a row's score in one of the tables: lower is better."""
        return f"bm25({', '.join((table, *map(str, self.weights)))})"


@dataclass(frozen=True, slots=True)
class OwnScores:
    """Scores of the caller's own passages. ``scale``: the factor that makes scores of shared passages comparable,
    because their words are rarer, or commoner, when the caller's text counts too."""

    scores: dict[int, float]
    scale: float


def split_phrases(expression: str) -> list[str]:
    """The words and phrases of an expression, whose scores bm25 adds up."""
    return list(dict.fromkeys(_PHRASE.findall(expression)))


def has_private_passages(tx: Reader, viewer: str) -> bool:
    """Whether the caller has any private passage. One step in an index."""
    return tx.one("SELECT 1 FROM passages WHERE owner = ? LIMIT 1", (viewer,)) is not None


SMALL_OWN_TEXT = 10
"""Ratio of shared passages to own ones above which words missing in the own text are not counted in the shared text."""


def score_own(tx: Reader, index: TextIndex, phrases: Sequence[str], viewer: str) -> OwnScores | None:
    """The caller's own passages that hold any of the phrases; None when there are none."""
    own = _OwnText.of(tx, index, viewer)
    shared, scores = read_text_size(tx, index.shared), dict[int, float]()
    times = {phrase: own.times(tx, phrase) for phrase in phrases}
    lengths = own.lengths(tx, {passage for hits in times.values() for passage in hits})
    if not lengths:
        return None
    both = shared.with_more(len(own.passages), sum(lengths.values()) / len(lengths))
    alone = together = 0.0
    for phrase, hits in times.items():
        if not hits and len(own.passages) * SMALL_OWN_TEXT < shared.rows:
            continue
        among = _count_rows_with(tx, index.shared, phrase)
        weight = both.weight(among + len(hits))
        if among:
            alone, together = alone + shared.weight(among), together + weight
        for passage, score in hits.items():
            count = own.everybody.times(score, lengths[passage])
            scores[passage] = scores.get(passage, 0.0) + weight * both.grown(count, lengths[passage])
    return OwnScores(scores, together / alone if alone else 1.0)


@dataclass(frozen=True, slots=True)
class TextSize:
    """The amount of text that bm25 computes with."""

    rows: int
    words: float

    def with_more(self, rows: int, words: float) -> TextSize:
        """The size with ``rows`` more rows of ``words`` words each."""
        return TextSize(self.rows + rows, self.words + rows * words)

    def weight(self, holding: int) -> float:
        """The weight (idf) of a word that ``holding`` of the rows hold."""
        return max(math.log((self.rows - holding + 0.5) / (holding + 0.5)), 0.0) or _LEAST

    def spread(self, length: int) -> float:
        return _K1 * (1 - _B + _B * length * self.rows / self.words)

    def grown(self, times: float, length: int) -> float:
        """What a word's weight is multiplied by for standing ``times`` in a row, each column by its weight."""
        return times * (_K1 + 1) / (times + self.spread(length))

    def times(self, score: float, length: int) -> float:
        """The inverse of ``grown``: how often, as a sum of columns' weights. Rounded, so that nothing is left of the
        rows that went into the score."""
        return round(score * self.spread(length) / (_K1 + 1 - score), 6)


@dataclass(frozen=True, slots=True)
class _OwnText:
    """The passages one caller keeps private, and the size of ``everybody``'s private text, of which they are part."""

    index: TextIndex
    passages: frozenset[int]
    everybody: TextSize

    @classmethod
    def of(cls, tx: Reader, index: TextIndex, viewer: str) -> _OwnText:
        rows = tx.all("SELECT seq FROM passages WHERE owner = ?", (viewer,))
        return cls(index, frozenset(row[0] for row in rows), read_text_size(tx, index.private))

    def times(self, tx: Reader, phrase: str) -> dict[int, float]:
        """By own passage: the phrase's score there without the phrase's weight (``grown``)."""
        table = self.index.private
        rows = tx.all(f"SELECT rowid, {self.index.score(table)} FROM {table} WHERE {table} MATCH ?", (phrase,))
        weight = self.everybody.weight(len(rows))
        return {passage: -score / weight for passage, score in rows if passage in self.passages}

    def lengths(self, tx: Reader, passages: Collection[int]) -> dict[int, int]:
        """Words of each passage, over all columns, as FTS5 counts them."""
        among = ", ".join(map(str, passages))
        rows = tx.all(f"SELECT id, sz FROM {self.index.private}_docsize WHERE id IN ({among})")
        return {int(passage): sum(_decode_varints(size)) for passage, size in rows}


def _count_rows_with(tx: Reader, table: str, phrase: str) -> int:
    """How many rows of a table hold a phrase."""
    return int(tx.value(f"SELECT COUNT(*) FROM {table} WHERE {table} MATCH ?", (phrase,)))


def read_text_size(tx: Reader, table: str) -> TextSize:
    """A table's rows and words, from the record FTS5 keeps of them for bm25."""
    rows, *words = _decode_varints(tx.value(f"SELECT block FROM {table}_data WHERE id = 1") or b"") or [0]
    return TextSize(rows, sum(words))


def _decode_varints(packed: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, the highest first, the eighth bit says that more come."""
    found, number = [], 0
    for byte in packed:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return found

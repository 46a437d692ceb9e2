"""Keyword scores of the caller's private text, its words weighed by what the caller may see: shared text and their own.

Everybody's private text shares one index, whose bm25 weighs a word by all rows that hold it, and so would tell one
person what others wrote. That bm25 is taken apart here: how often a word stands in a passage is the passage's own. The
score is then put together again as SQLite would do it over shared text and the caller's own alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.index import text_index
from vaults.index.text_index import TextIndex

_K1, _B, _LEAST = 1.2, 0.75, 1e-6
"""Constants of FTS5's bm25; the last is what a word in more than half of the rows weighs."""

_PHRASE = re.compile(r'(?:\w+ : )?"[^"]*"\*?')


@dataclass(frozen=True, slots=True)
class OwnScores:
    """Scores of the caller's own passages. ``scale``: the factor that makes scores of shared passages comparable,
    because their words are rarer, or commoner, when the caller's text counts too."""

    scores: dict[int, float]
    scale: float


def split_phrases(expression: str) -> list[str]:
    """The words and phrases of an expression, whose scores bm25 adds up."""
    return list(dict.fromkeys(_PHRASE.findall(expression)))


def has_private_passages(tx: Reader, index: TextIndex, viewer: str) -> bool:
    """Whether the caller has any private passage in this index. One step in an index."""
    where = f"owner = :viewer AND kind IN ({index.kinds})"
    return tx.one(f"SELECT 1 FROM passages WHERE {where} LIMIT 1", {"viewer": viewer}) is not None


SMALL_OWN_TEXT = 10
"""Ratio of shared passages to own ones above which words missing in the own text are not counted in the shared text."""


def score_own(tx: Reader, index: TextIndex, phrases: Sequence[str], viewer: str) -> OwnScores | None:
    """The caller's own passages that hold any of the phrases; None when there are none."""
    own = _OwnText.of(tx, index, viewer)
    shared, scores = TextSize.of(tx, index.shared), dict[int, float]()
    times = {phrase: own.times(tx, phrase) for phrase in phrases}
    lengths = text_index.count_words(tx, index.private, {passage for hits in times.values() for passage in hits})
    if not lengths:
        return None
    both = shared.with_more(len(own.passages), sum(lengths.values()) / len(lengths))
    alone = together = 0.0
    for phrase, hits in times.items():
        if not hits and len(own.passages) * SMALL_OWN_TEXT < shared.rows:
            continue
        among = text_index.count_rows(tx, index.shared, phrase)
        weight = both.weight(among + len(hits))
        if among:
            alone, together = alone + shared.weight(among), together + weight
        for passage, score in hits.items():
            count = own.everybody.times(score, lengths[passage])
            scores[passage] = scores.get(passage, 0.0) + weight * both.grown(count, lengths[passage])
    return OwnScores(scores, together / alone if alone else 1.0)


def compare_weights(tx: Reader, tables: Sequence[str], phrases: Sequence[str]) -> list[float]:
    """For each table the factor that makes its scores what they were if all its rows stood in one with the others'."""
    sizes = [TextSize.of(tx, table) for table in tables]
    counts = [[text_index.count_rows(tx, table, phrase) for table in tables] for phrase in phrases]
    whole = TextSize(sum(size.rows for size in sizes), sum(size.words for size in sizes))
    factors = []
    for place, size in enumerate(sizes):
        alone = sum(size.weight(among[place]) for among in counts if among[place])
        together = sum(whole.weight(sum(among)) for among in counts if among[place])
        factors.append(together / alone if alone else 1.0)
    return factors


@dataclass(frozen=True, slots=True)
class TextSize:
    """The amount of text that bm25 computes with."""

    rows: int
    words: float

    @classmethod
    def of(cls, tx: Reader, table: str) -> TextSize:
        return cls(*text_index.read_size(tx, table))

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
        where = f"owner = :viewer AND kind IN ({index.kinds})"
        rows = tx.all(f"SELECT seq FROM passages WHERE {where}", {"viewer": viewer})
        return cls(index, frozenset(seq for (seq,) in rows), TextSize.of(tx, index.private))

    def times(self, tx: Reader, phrase: str) -> dict[int, float]:
        """By own passage: the phrase's score there without the phrase's weight (``grown``)."""
        rows = text_index.score_private(tx, self.index, phrase)
        weight = self.everybody.weight(len(rows))
        return {passage: -score / weight for passage, score in rows if passage in self.passages}

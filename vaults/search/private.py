"""What the caller keeps private, by word, weighed by words of what the caller may see: shared text, and the own.

Private text of everybody stands in one index, whose bm25 weighs a word by all rows that hold it, and so would tell one
person what others wrote. That bm25 is taken apart here: how often a word stands in a passage is the passage's own. The
score is then put together again as SQLite would do it over shared text and the caller's own alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.search.filters import Filter

_K1, _B, _LEAST = 1.2, 0.75, 1e-6
"""Constants of FTS5's bm25; the last is what a word in more than half of the rows weighs."""

_PHRASE = re.compile(r'(?:\w+ : )?"[^"]*"\*?')


@dataclass(frozen=True, slots=True)
class TextIndex:
    """Two full-text tables of the same columns, of shared and of private passages, and bm25's weights of these."""

    shared: str
    private: str
    weights: tuple[float, ...]

    def score(self, table: str) -> str:
        """SQL of a row's score in one of the tables: lower is better."""
        return f"bm25({', '.join((table, *map(str, self.weights)))})"


@dataclass(frozen=True, slots=True)
class Own:
    """Scores of the caller's own passages. ``scale``: what scores of shared passages are multiplied by to stand beside
    them, because their words are rarer, or commoner, when the own text counts too."""

    scores: dict[int, float]
    scale: float


def phrases_of(expression: str) -> list[str]:
    """The words and phrases that bm25 adds up for an expression."""
    return list(dict.fromkeys(_PHRASE.findall(expression)))


def keeps_some(tx: Reader, viewer: str) -> bool:
    """Whether the caller has anything private at all. One step in an index."""
    return tx.one("SELECT 1 FROM passages WHERE owner = ? LIMIT 1", (viewer,)) is not None


def scored(tx: Reader, index: TextIndex, match: str, phrases: Sequence[str], only: Filter) -> Own | None:
    """The caller's own passages that match and that the filter lets through; None when there are none."""
    own = _OwnText(tx, index, only.viewer)
    wanted = own.matching(match, only)
    if not wanted:
        return None
    lengths = own.lengths(wanted)
    shared, mine = text_size(tx, index.shared), own.size(lengths.values())
    both = TextSize(shared.rows + mine.rows, shared.words + mine.words)
    scores = dict.fromkeys(wanted, 0.0)
    alone = together = 0.0
    for phrase in phrases:
        among = _holding(tx, index.shared, phrase)
        times = own.times(phrase)
        weight = both.weight(among + len(times))
        if among:
            alone, together = alone + shared.weight(among), together + weight
        for passage in times.keys() & wanted:
            scores[passage] += weight * both.grown(times[passage], lengths[passage])
    return Own(scores, together / alone if alone else 1.0)


@dataclass(frozen=True, slots=True)
class TextSize:
    """How much text bm25 goes by."""

    rows: int
    words: float

    def weight(self, holding: int) -> float:
        """What a word counts that so many of the rows hold."""
        return max(math.log((self.rows - holding + 0.5) / (holding + 0.5)), 0.0) or _LEAST

    def spread(self, length: int) -> float:
        return _K1 * (1 - _B + _B * length * self.rows / self.words)

    def grown(self, times: float, length: int) -> float:
        """What standing in a row so often, in its columns by weight, multiplies a word by."""
        return times * (_K1 + 1) / (times + self.spread(length))

    def shrunk(self, score: float, length: int) -> float:
        """The other way round: from ``grown`` to ``times``, which is a sum of columns' weights. Rounded, so that
        nothing is left of the rows that went into the score."""
        return round(score * self.spread(length) / (_K1 + 1 - score), 6)


@dataclass(frozen=True, slots=True)
class _OwnText:
    """What one caller keeps private, among everybody's."""

    tx: Reader
    index: TextIndex
    viewer: str

    def matching(self, match: str, only: Filter) -> set[int]:
        """The own passages that match an expression and pass a filter."""
        where, params = only.over_passages()
        rows = self.tx.all(f"{self._mine('p.seq')} AND {where}", {**params, "match": match})
        return {int(row[0]) for row in rows}

    def times(self, phrase: str) -> dict[int, float]:
        """How often a phrase stands in each of the own passages that hold it, by the weights of the columns."""
        table = self.index.private
        mine = self.tx.all(
            self._mine(f"p.seq, {self.index.score(table)}, d.sz", f"JOIN {table}_docsize d ON d.id = p.seq"),
            {"match": phrase, "viewer": self.viewer},
        )
        if not mine:
            return {}
        everybody = text_size(self.tx, table)
        weight = everybody.weight(_holding(self.tx, table, phrase))
        return {int(seq): everybody.shrunk(-score / weight, sum(_numbers(size))) for seq, score, size in mine}

    def size(self, matching: Collection[int]) -> TextSize:
        """All of the own text; its passages are taken to be as long as those that match, which are read anyway."""
        rows = self.tx.value(
            f"SELECT COUNT(*) FROM passages p CROSS JOIN {self.index.private}_docsize d ON d.id = p.seq"
            " WHERE p.owner = ?",
            (self.viewer,),
        )
        return TextSize(int(rows), int(rows) * sum(matching) / len(matching))

    def lengths(self, passages: Collection[int]) -> dict[int, int]:
        """Words of each passage, over all columns, as FTS5 counts them."""
        among = ", ".join(map(str, passages))
        rows = self.tx.all(f"SELECT id, sz FROM {self.index.private}_docsize WHERE id IN ({among})")
        return {int(passage): sum(_numbers(size)) for passage, size in rows}

    def _mine(self, columns: str, joined: str = "") -> str:
        table = self.index.private
        return (
            f"SELECT {columns} FROM {table} CROSS JOIN passages p ON p.seq = {table}.rowid {joined}"
            f" WHERE {table} MATCH :match AND p.owner = :viewer"
        )


def _holding(tx: Reader, table: str, phrase: str) -> int:
    """How many rows of a table hold a phrase."""
    return int(tx.value(f"SELECT COUNT(*) FROM {table} WHERE {table} MATCH ?", (phrase,)))


def text_size(tx: Reader, table: str) -> TextSize:
    """A table's rows and words, from the record that FTS5 keeps of them for bm25."""
    rows, *words = _numbers(tx.value(f"SELECT block FROM {table}_data WHERE id = 1") or b"") or [0]
    return TextSize(rows, sum(words))


def _numbers(packed: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, the highest first, the eighth bit says that more come."""
    found, number = [], 0
    for byte in packed:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return found

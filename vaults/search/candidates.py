"""Candidates by keyword and by vector, and the rows that decide which of them the caller may see."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaults.db.sql import Reader
from vaults.search.filters import MemoryFilter

if TYPE_CHECKING:
    import numpy as np

TITLE, BODY, LABELS = 2.0, 1.0, 0.5
"""bm25 weights of the full-text columns."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage of a memory with one channel's score; higher is better."""

    passage: int
    item: int
    score: float


def by_keyword(tx: Reader, match: str, limit: int, only: MemoryFilter) -> list[Scored]:
    """The best ``limit`` visible passages by bm25. The condition is applied after ranking where it rarely bites
    (that costs a fraction), before ranking where it narrows, and again before ranking where it bit after all."""
    if only.narrows:
        return _ranked_within(tx, match, limit, only)
    where, params = only.where()
    over = limit + limit // 2
    rows = tx.all(
        "SELECT f.seq, (SELECT m.seq FROM passages p JOIN memories m ON m.seq = p.item"
        f"  WHERE p.seq = f.seq AND p.kind = 'memory' AND {where}), f.score"
        f" FROM (SELECT rowid AS seq, bm25(passages_fts, {TITLE}, {BODY}, {LABELS}) AS score FROM passages_fts"
        "  WHERE passages_fts MATCH :match ORDER BY score LIMIT :over) f",
        {**params, "match": match, "over": over},
    )
    found = [Scored(int(row[0]), int(row[1]), -float(row[2])) for row in rows if row[1] is not None]
    if len(found) < limit and len(rows) == over:
        return _ranked_within(tx, match, limit, only)
    found.sort(key=lambda scored: (-scored.score, scored.passage))
    return found[:limit]


def _ranked_within(tx: Reader, match: str, limit: int, only: MemoryFilter) -> list[Scored]:
    where, params = only.where()
    rows = tx.all(
        f"SELECT p.seq, m.seq, bm25(passages_fts, {TITLE}, {BODY}, {LABELS}) AS score"
        " FROM passages_fts JOIN passages p ON p.seq = passages_fts.rowid JOIN memories m ON m.seq = p.item"
        f" WHERE passages_fts MATCH :match AND p.kind = 'memory' AND {where} ORDER BY score LIMIT :limit",
        {**params, "match": match, "limit": limit},
    )
    return [Scored(int(row[0]), int(row[1]), -float(row[2])) for row in rows]


def allowed(tx: Reader, only: MemoryFilter) -> np.ndarray:
    """Every passage the filter lets through, as int64 numbers for the vector index."""
    import numpy as np

    where, params = only.where()
    rows = tx.all(
        f"SELECT p.seq FROM passages p JOIN memories m ON m.seq = p.item WHERE p.kind = 'memory' AND {where}", params
    )
    return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))


def hides_any(tx: Reader, near: Sequence[tuple[int, float]], only: MemoryFilter) -> bool:
    """Whether some of the nearest passages are not for this caller."""
    return len(visible(tx, [passage for passage, _ in near], only)) < len(near)


def visible(tx: Reader, passages: Collection[int], only: MemoryFilter) -> dict[int, int]:
    """Those of ``passages`` the filter lets through, each with the number of its memory."""
    where, params = only.where()
    found: dict[int, int] = {}
    numbers = list(passages)
    for start in range(0, len(numbers), 500):
        some = ", ".join(str(int(number)) for number in numbers[start : start + 500])
        # The kind is looked at here: as a condition it has SQLite walk the index of all passages by kind.
        rows = tx.all(
            "SELECT p.seq, p.item, p.kind FROM passages p JOIN memories m ON m.seq = p.item"
            f" WHERE p.seq IN ({some}) AND {where}",
            params,
        )
        found.update((int(seq), int(item)) for seq, item, kind in rows if kind == "memory")
    return found

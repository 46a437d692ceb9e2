"""Notes that were found or opened together: they belong together, whatever their links say.

A set of n notes adds 1 / ln(n) to each pair in it, after Adamic and Adar (Friends and neighbors on the web, 2003): to
be among three says more than to be among ten. A weight halves every seven days. Only notes are counted, by their paths:
nothing of a memory is stored here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from typing import Literal, TypeAlias

from vaults import clock
from vaults.db.sql import Reader, Writer

AccessKind: TypeAlias = Literal["read", "found"]
CoAccessPair: TypeAlias = tuple[str, str, AccessKind]
"""Two paths in order, and whether they were read or found together."""

HALF_LIFE_DAYS = 7.0

MAX_NOTES = 10
"""First notes of an answer that count."""

RETENTION_DAYS = 120.0
"""Days without a new record after which a pair is deleted; less than a hundred-thousandth of its weight is left."""


def weigh_pair(notes: int) -> float:
    """The weight that a set of so many notes adds to each pair in it."""
    return 1.0 / math.log(notes) if notes > 1 else 0.0


def pair_all(how: AccessKind, paths: Sequence[str]) -> dict[CoAccessPair, float]:
    """The weights for notes that came together: each pair of the first ten."""
    several = sorted(set(list(dict.fromkeys(paths))[:MAX_NOTES]))
    each = weigh_pair(len(several))
    return {(a, b, how): each for a, b in combinations(several, 2)}


def pair_with(how: AccessKind, path: str, others: Sequence[str]) -> dict[CoAccessPair, float]:
    """The weights for a note that joins others: its own pairs only."""
    there = sorted({*others} - {path})
    each = weigh_pair(len(there) + 1)
    return {(min(path, other), max(path, other), how): each for other in there}


def add_weights(tx: Writer, met: Mapping[CoAccessPair, float], now: str) -> None:
    """Add to the weights of pairs, decayed to ``now`` first."""
    rows = []
    for (a, b, how), more in met.items():
        pair = {"a": a, "b": b, "how": how}
        known = tx.one("SELECT weight, at FROM note_pairs WHERE a = :a AND b = :b AND how = :how", pair)
        decayed = decay_weight(weight=known[0], at=known[1], now=now) if known else 0.0
        rows.append({**pair, "weight": decayed + more, "now": now})
    tx.many(
        "INSERT INTO note_pairs (a, b, how, weight, at) VALUES (:a, :b, :how, :weight, :now)"
        " ON CONFLICT (a, b, how) DO UPDATE SET weight = excluded.weight, at = excluded.at",
        rows,
    )
    long_ago = datetime.fromisoformat(now) - timedelta(days=RETENTION_DAYS)
    tx.run("DELETE FROM note_pairs WHERE at < :long_ago", {"long_ago": clock.to_text(long_ago)})


def decay_weight(weight: float, at: str, now: str) -> float:
    """What is left of a weight. A moment in the future counts as now: somebody set the clock back."""
    days = (datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds() / 86_400
    return weight * math.pow(0.5, max(0.0, days) / HALF_LIFE_DAYS)


def read_weights(tx: Reader, path: str, now: str) -> dict[str, float]:
    """Notes that were found or opened together with this one, by path, with their weight as of ``now``."""
    found: dict[str, float] = defaultdict(float)
    for how in read_weights_by_kind(tx, path, now).values():
        for other, weight in how.items():
            found[other] += weight
    return dict(found)


def read_weights_by_kind(tx: Reader, path: str, now: str) -> dict[str, dict[str, float]]:
    """As ``read_weights``, separately for each kind of access."""
    rows = tx.all(
        "SELECT how, b, weight, at FROM note_pairs WHERE a = :path"
        " UNION ALL SELECT how, a, weight, at FROM note_pairs WHERE b = :path",
        {"path": path},
    )
    found: dict[str, dict[str, float]] = {"read": {}, "found": {}}
    for how, other, weight, at in rows:
        found[how][other] = decay_weight(weight, at, now)
    return found


def read_recent_pairs(tx: Reader, now: str, most: int) -> dict[tuple[str, str], float]:
    """The ``most`` pairs recorded last, with the weights of both kinds added."""
    rows = tx.all("SELECT a, b, weight, at FROM note_pairs ORDER BY at DESC, a, b, how LIMIT :limit", {"limit": most})
    found: dict[tuple[str, str], float] = defaultdict(float)
    for a, b, weight, at in rows:
        found[a, b] += decay_weight(weight, at, now)
    return dict(found)

"""What somebody does not want proposed again: that two entities be merged, or that a name without a note be one. By the
keys of names, so that it holds wherever a note is moved."""

from __future__ import annotations

from typing import Literal

from vaults import clock
from vaults.db.sql import Reader, Writer

DismissalKind = Literal["merge", "prospect"]


def dismiss(tx: Writer, kind: DismissalKind, keys: tuple[str, str], who: str) -> bool:
    """Propose it no more; whether it was, before. ``keys``: of a merge either way round; of a prospect with ''."""
    a, b = _ordered(kind, keys)
    return bool(
        tx.run(
            "INSERT INTO dismissals (kind, a, b, at, who) VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, a, b) DO NOTHING",
            (kind, a, b, clock.now(), who),
        )
    )


def restore(tx: Writer, kind: DismissalKind, keys: tuple[str, str]) -> bool:
    """Take that back; whether there was anything to."""
    return bool(tx.run("DELETE FROM dismissals WHERE kind = ? AND a = ? AND b = ?", (kind, *_ordered(kind, keys))))


def read_merges(tx: Reader) -> frozenset[tuple[str, str]]:
    """Pairs of keys, each in order."""
    return frozenset((a, b) for a, b in tx.all("SELECT a, b FROM dismissals WHERE kind = 'merge'"))


def read_prospects(tx: Reader) -> frozenset[str]:
    """Keys of names."""
    return frozenset(a for (a,) in tx.all("SELECT a FROM dismissals WHERE kind = 'prospect'"))


def _ordered(kind: DismissalKind, keys: tuple[str, str]) -> tuple[str, str]:
    return (min(keys), max(keys)) if kind == "merge" else keys

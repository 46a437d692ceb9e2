"""Proposals somebody does not want to see again: merging two entities, or writing a note for a name without one. Stored
by the keys of names, so that they hold wherever a note is moved."""

from __future__ import annotations

from typing import Literal

from vaults import clock
from vaults.db.sql import Reader, Writer

DismissalKind = Literal["merge", "prospect"]


def dismiss(tx: Writer, kind: DismissalKind, keys: tuple[str, str], who: str) -> bool:
    """Stop proposing it; False if it was dismissed already. ``keys``: for a merge in any order, for a prospect its key
    and ''."""
    a, b = _order_keys(kind, keys)
    return bool(
        tx.run(
            "INSERT INTO dismissals (kind, a, b, at, who) VALUES (:kind, :a, :b, :at, :who)"
            " ON CONFLICT (kind, a, b) DO NOTHING",
            {"kind": kind, "a": a, "b": b, "at": clock.now(), "who": who},
        )
    )


def restore(tx: Writer, kind: DismissalKind, keys: tuple[str, str]) -> bool:
    """Undo a dismissal; False if there was none."""
    a, b = _order_keys(kind, keys)
    same = {"kind": kind, "a": a, "b": b}
    return bool(tx.run("DELETE FROM dismissals WHERE kind = :kind AND a = :a AND b = :b", same))


def read_merges(tx: Reader) -> frozenset[tuple[str, str]]:
    """Dismissed merges, as pairs of keys in order."""
    return frozenset((a, b) for a, b in tx.all("SELECT a, b FROM dismissals WHERE kind = 'merge'"))


def read_prospects(tx: Reader) -> frozenset[str]:
    """Keys of dismissed names."""
    return frozenset(a for (a,) in tx.all("SELECT a FROM dismissals WHERE kind = 'prospect'"))


def _order_keys(kind: DismissalKind, keys: tuple[str, str]) -> tuple[str, str]:
    return (min(keys), max(keys)) if kind == "merge" else keys

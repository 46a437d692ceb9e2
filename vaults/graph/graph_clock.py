"""The number of the graph's newest change, by which caches of the graph catch up."""

from __future__ import annotations

import time
from collections.abc import Iterable

from vaults.db.sql import Reader, Writer


def read_latest(tx: Reader) -> int:
    """The newest change."""
    return int(tx.value("SELECT last FROM graph_clock") or 0)


def advance(tx: Writer) -> int:
    """Begin another change and return its number."""
    number = tx.value("UPDATE graph_clock SET last = last + 1 RETURNING last")
    if number is None:
        # The row was dropped with all derived data: continue from a number no cache of the graph can have seen.
        tx.run("INSERT INTO graph_clock VALUES (:now_ms)", {"now_ms": time.time_ns() // 1_000_000})
        return read_latest(tx)
    return int(number)


def mark_changed(tx: Writer, notes: Iterable[int]) -> None:
    """Record that something of these notes changed that the graph shows: links, names, category."""
    number = advance(tx)
    tx.many("UPDATE notes SET linked = :linked WHERE seq = :seq", [{"linked": number, "seq": each} for each in notes])

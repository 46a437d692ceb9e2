"""The log of what was let go: rows of ``evictions``, read by the owner and by whoever may have seen the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.maintenance.eviction_plan import EvictionReason, PlannedEviction
from vaults.settings import EvictableKind

ROWS_KEPT = 10_000
"""Rows of the log that are kept; their copies go with the others."""


@dataclass(frozen=True, slots=True)
class LoggedEviction:
    """An item that went: when, why, and whether it can be had back. ``size`` in characters. Of one that was purged
    since there is no title, size and use any more."""

    at: str
    kind: EvictableKind
    id: str
    title: str
    size: int
    used: str
    reason: EvictionReason
    state: str
    kept: bool


@dataclass(frozen=True, slots=True)
class UnfinishedEviction:
    """An item that is going: the row of the log, and which item."""

    seq: int
    kind: EvictableKind
    item: int


def begin(tx: Writer, run: str, planned: PlannedEviction) -> int:
    """Write down that an item is going; returns the number of the row."""
    one = planned.candidate
    tx.run(
        "DELETE FROM evictions WHERE state <> 'begun' AND seq <= (SELECT MAX(seq) FROM evictions) - :kept",
        {"kept": ROWS_KEPT},
    )
    table = "memories" if one.kind == "memory" else "documents"
    return tx.insert(
        "INSERT INTO evictions (run, at, kind, item, id, title, owner, stored_by, size, used, reason, state) VALUES"
        f" (:run, :at, :kind, :item, :id, :title, :owner, (SELECT stored_by FROM {table} WHERE seq = :item), :size,"
        " :used, :reason, 'begun')",
        {
            "run": run, "at": clock.now(), "kind": one.kind, "item": one.seq, "id": one.id, "title": one.title,
            "owner": one.owner, "size": one.size, "used": one.used, "reason": planned.reason,
        },
    )  # fmt: skip


def set_state(tx: Writer, seq: int, state: str) -> None:
    """Write down what became of an item."""
    tx.run("UPDATE evictions SET state = :state WHERE seq = :seq", {"state": state, "seq": seq})


def find_unfinished(tx: Reader) -> UnfinishedEviction | None:
    """The first item whose rows are not all gone."""
    row = tx.one("SELECT seq, kind, item FROM evictions WHERE state = 'begun' ORDER BY seq LIMIT 1")
    return None if row is None else UnfinishedEviction(*row)


def find_run(tx: Reader, since: str) -> str | None:
    """The newest run, if something went in it since this time."""
    run: str | None = tx.value(
        "SELECT run FROM evictions WHERE at >= :since ORDER BY seq DESC LIMIT 1", {"since": since}
    )
    return run


def list_log(tx: Reader, viewer: str | None, limit: int) -> list[LoggedEviction]:
    """What went, the newest first. ``viewer`` None: the operator at the machine, who sees all."""
    rows = tx.all(
        "SELECT e.at, e.kind, e.id, e.title, e.size, e.used, e.reason, e.state, c.eviction IS NOT NULL FROM evictions e"
        " LEFT JOIN evicted_copies c ON c.eviction = e.seq"
        f" WHERE {_SEEN} ORDER BY e.seq DESC LIMIT :limit",
        {"all": viewer is None, "viewer": viewer, "limit": limit},
    )
    return [replace(LoggedEviction(*row), kept=bool(row[-1])) for row in rows]


def count_since(tx: Reader, viewer: str | None, since: str) -> int:
    """How many items went since a time and did not come back, of those the viewer may have seen."""
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM evictions e WHERE e.at >= :since AND e.state <> 'restored' AND {_SEEN}",
            {"all": viewer is None, "viewer": viewer, "since": since},
        )
    )


_SEEN = "(:all OR e.owner IS NULL OR e.owner = :viewer)"


def list_copies(tx: Reader) -> Sequence[int]:
    """The items of the newest run of which a copy is left, in the order in which they went."""
    rows = tx.all(
        "SELECT e.seq FROM evictions e JOIN evicted_copies c ON c.eviction = e.seq WHERE e.state = 'gone' AND e.run ="
        " (SELECT e.run FROM evictions e JOIN evicted_copies c ON c.eviction = e.seq WHERE e.state = 'gone'"
        " ORDER BY e.seq DESC LIMIT 1) ORDER BY e.seq"
    )
    return [int(seq) for (seq,) in rows]


def count_lost(tx: Reader, seq: int) -> int:
    """Items of the run of this one that went and of which no copy is left."""
    return int(
        tx.value(
            "SELECT COUNT(*) FROM evictions e WHERE e.state = 'gone' AND e.run = (SELECT run FROM evictions WHERE seq ="
            " :seq) AND NOT EXISTS (SELECT 1 FROM evicted_copies c WHERE c.eviction = e.seq)",
            {"seq": seq},
        )
    )

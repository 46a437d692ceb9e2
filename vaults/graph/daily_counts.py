"""Figures of the graph at the end of each day, which no file shows any more on the next one."""

from __future__ import annotations

import json

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.graph import graph_clock

REWRITE_AFTER_S = 3600.0
"""Seconds after which today's figures may be written again."""

DailyCounts = dict[str, int]
"""``notes``, ``links``, ``broken`` (links that mean no note), ``linked`` (notes another links to), ``tasks`` (open)."""


def count_graph(tx: Reader) -> DailyCounts:
    """The figures as they are now. Nothing about memories: everybody in a vault may read them."""
    links = tx.one("SELECT COUNT(*), COUNT(meant), COUNT(DISTINCT meant) FROM note_links WHERE target_key <> ''")
    written, whole, linked = (int(each) for each in links) if links else (0, 0, 0)
    return {
        "notes": int(tx.value("SELECT COUNT(*) FROM notes")),
        "links": written,
        "broken": written - whole,
        "linked": linked,
        "tasks": int(tx.value("SELECT COUNT(*) FROM note_tasks WHERE status = ' '")),
    }


def is_due(tx: Reader) -> bool:
    """Whether today's figures are not stored yet, or were an hour ago or more and the graph has changed since. A vault
    that never had notes has no days."""
    at, _, change = str(tx.value("SELECT value FROM vault_info WHERE key = 'day'") or "").partition(" ")
    now = clock.now()
    if at[:10] == now[:10]:
        return change != str(graph_clock.read_latest(tx)) and not clock.ago(REWRITE_AFTER_S) < at <= now
    return bool(at) or tx.one("SELECT 1 FROM notes LIMIT 1") is not None


def write_today(tx: Writer) -> None:
    """Store today's figures, replacing those of an earlier hour."""
    now = clock.now()
    tx.run(
        "INSERT INTO graph_days (day, counts) VALUES (:day, :counts)"
        " ON CONFLICT (day) DO UPDATE SET counts = excluded.counts",
        {"day": now[:10], "counts": json.dumps(count_graph(tx))},
    )
    tx.run(
        "INSERT INTO vault_info (key, value) VALUES ('day', :said)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"said": f"{now} {graph_clock.read_latest(tx)}"},
    )


def read_since(tx: Reader, day: str) -> dict[str, DailyCounts]:
    """The stored figures of all days from ``day`` on, and of the last one before it."""
    before = tx.value("SELECT MAX(day) FROM graph_days WHERE day < :day", {"day": day})
    rows = tx.all(
        "SELECT day, counts FROM graph_days WHERE day >= :day ORDER BY day LIMIT 4000", {"day": before or day}
    )
    return {str(of): {name: int(value) for name, value in json.loads(counts).items()} for of, counts in rows}

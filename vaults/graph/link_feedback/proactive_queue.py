"""Edited notes that wait until nobody edits them any more, so that names in them may be linked."""

from __future__ import annotations

from vaults import clock
from vaults.db.sql import Reader, Writer


def enqueue(tx: Writer, path: str) -> None:
    """Queue a note that was edited just now; its waiting time starts again."""
    tx.run(
        "INSERT INTO proactive_queue (path, at) VALUES (:path, :at) ON CONFLICT (path) DO UPDATE SET at = excluded.at",
        {"path": path, "at": clock.now()},
    )


def read_due(tx: Reader, before: str, limit: int) -> list[tuple[str, str]]:
    """Notes last edited before a moment, with the time of that edit, the longest waiting first."""
    rows = tx.all(
        "SELECT path, at FROM proactive_queue WHERE at <= :before ORDER BY at, path LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [(path, at) for path, at in rows]


def take(tx: Writer, path: str, at: str) -> bool:
    """Take a note out of the queue; False if it was edited since."""
    return tx.run("DELETE FROM proactive_queue WHERE path = :path AND at = :at", {"path": path, "at": at}) > 0


def has_entries(tx: Reader) -> bool:
    """Whether any note waits."""
    return tx.one("SELECT 1 FROM proactive_queue LIMIT 1") is not None


def clear(tx: Writer) -> None:
    """Empty the queue."""
    tx.run("DELETE FROM proactive_queue")

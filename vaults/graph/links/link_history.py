"""Links that were added and removed, and how often notes were edited: no file tells, so it is recorded when seen."""

from __future__ import annotations

from collections.abc import Iterable

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.graph.links.link_index import LinkDifference


def count_edit(tx: Writer, path: str) -> int:
    """Count an edit of a note and return its number."""
    tx.run(
        "INSERT INTO note_edits (path, edits, at) VALUES (:path, 1, :at)"
        " ON CONFLICT (path) DO UPDATE SET edits = note_edits.edits + 1, at = excluded.at",
        {"path": path, "at": clock.now()},
    )
    return read_edits(tx, path)


def read_edits(tx: Reader, path: str) -> int:
    """How often a note was edited since it was first seen."""
    return int(tx.value("SELECT edits FROM note_edits WHERE path = :path", {"path": path}) or 0)


def record_difference(tx: Writer, path: str, edit: int, difference: LinkDifference) -> None:
    """Record which links an edit added and removed."""
    now = clock.now()
    tx.many(
        "INSERT INTO link_history (at, path, target, added, edit) VALUES (:at, :path, :target, :added, :edit)",
        [
            {"at": now, "path": path, "target": target, "added": added, "edit": edit}
            for added, targets in ((1, difference.added), (0, difference.removed))
            for target in sorted(targets)
        ],
    )


PATH_COLUMNS = (("note_edits", ("path",)), ("link_history", ("path",)), ("link_applications", ("path", "meant")),
         ("link_feedback", ("path",)), ("note_pairs", ("a", "b")), ("proactive_queue", ("path",)))  # fmt: skip
"""Tables that refer to notes by path, and the columns that do."""


def move_paths(tx: Writer, pairs: Iterable[tuple[str, str]]) -> None:
    """Make what is recorded of notes follow them, given where each was moved from and to."""
    for before, after in pairs:
        where = {"before": before, "after": after}
        for table, columns in PATH_COLUMNS:
            for column in columns:
                # Replace, because what is recorded under the new path belongs to a note that is gone.
                tx.run(f"UPDATE OR REPLACE {table} SET {column} = :after WHERE {column} = :before", where)
        tx.run("DELETE FROM note_pairs WHERE a = b")
        tx.run("UPDATE OR REPLACE note_pairs SET a = b, b = a WHERE a > b AND (a = :after OR b = :after)", where)
        tx.run(
            "UPDATE OR REPLACE memory_subjects SET subject = :after WHERE kind = 'note' AND subject = :before", where
        )
        tx.run("UPDATE corrections SET subject = :after WHERE kind = 'note' AND subject = :before", where)

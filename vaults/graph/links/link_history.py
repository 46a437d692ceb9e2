"""Links that came and went, and how often notes were changed: what no file tells, kept as it is seen."""

from __future__ import annotations

from collections.abc import Iterable

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.graph.links.link_index import LinkDifference


def count_edit(tx: Writer, path: str) -> int:
    """Count a change of a note; the number of it."""
    tx.run(
        "INSERT INTO note_edits (path, edits, at) VALUES (:path, 1, :at)"
        " ON CONFLICT (path) DO UPDATE SET edits = note_edits.edits + 1, at = excluded.at",
        {"path": path, "at": clock.now()},
    )
    return read_edits(tx, path)


def read_edits(tx: Reader, path: str) -> int:
    """How often a note was changed since it was first seen."""
    return int(tx.value("SELECT edits FROM note_edits WHERE path = ?", (path,)) or 0)


def record_difference(tx: Writer, path: str, edit: int, difference: LinkDifference) -> None:
    """Write down which links an edit brought and took."""
    now = clock.now()
    tx.many(
        "INSERT INTO link_history (at, path, target, added, edit) VALUES (?, ?, ?, ?, ?)",
        [
            (now, path, target, added, edit)
            for added, targets in ((1, difference.added), (0, difference.removed))
            for target in sorted(targets)
        ],
    )


PATH_COLUMNS = (("note_edits", ("path",)), ("link_history", ("path",)), ("link_applications", ("path", "meant")),
         ("link_feedback", ("path",)), ("note_pairs", ("a", "b")), ("proactive_queue", ("path",)))  # fmt: skip
"""Tables that know notes by their paths."""


def move_paths(tx: Writer, pairs: Iterable[tuple[str, str]]) -> None:
    """Let what is known of notes follow them: from where to where each was moved."""
    for before, after in pairs:
        where = {"before": before, "after": after}
        for table, columns in PATH_COLUMNS:
            for column in columns:
                # What is known of the path they go to was of a note that is gone.
                tx.run(f"UPDATE OR REPLACE {table} SET {column} = :after WHERE {column} = :before", where)
        tx.run("DELETE FROM note_pairs WHERE a = b")
        tx.run("UPDATE OR REPLACE note_pairs SET a = b, b = a WHERE a > b AND (a = :after OR b = :after)", where)
        tx.run(
            "UPDATE OR REPLACE memory_subjects SET subject = :after WHERE kind = 'note' AND subject = :before", where
        )
        tx.run("UPDATE corrections SET subject = :after WHERE kind = 'note' AND subject = :before", where)

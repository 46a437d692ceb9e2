"""What tools did to files, recorded before the first file is touched, so that a kill in between loses nothing.

A change names for each of its files the version before and the version after, and the versions are kept here,
compressed. So a change that was begun can be completed, one that was made can be undone, and text that another program
overwrote can be restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from uuid_utils import uuid7

from vaults import clock
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import version_store
from vaults.domain.notes.commit.version_store import PackedVersion
from vaults.files.tree import FileStamp
from vaults.settings import NotesSettings

PRUNE_EVERY = 64
"""Changes between two prunings of the journal."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a change."""

    path: str
    before: bytes | None  # None: the file is created
    after: bytes | None  # None: the file is removed
    to: str | None = None  # the file is moved there
    stamp: FileStamp | None = None  # of the version before, which must still be on disk

    @property
    def target(self) -> str:
        """The file's path afterwards."""
        return self.to or self.path


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What a tool does to files in one transaction: all of it happens, or none."""

    tool: str
    summary: str
    files: Sequence[FileChange]
    session: str | None = None
    undoes: str | None = None  # id of the change it takes back


VersionNames = list[tuple[str | None, str | None]]
"""Digests of the versions before and after, for each file of a change."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of a recorded change."""

    path: str
    to: str | None
    before: str | None  # digest
    after: str | None  # digest
    overwritten: str | None  # when it was noticed that another program wrote over it

    @property
    def target(self) -> str:
        return self.to or self.path


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A recorded change."""

    seq: int
    id: str
    at: str
    author: str
    tool: str
    session: str | None
    summary: str
    state: str
    undoes: str | None
    git: str | None  # the commit that holds it; "" while one is pending, None where none will be made
    files: list[FileRecord]


def name_versions(change: NoteChange) -> VersionNames:
    """The digests by which the versions of a change are stored."""
    return [
        (version_store.to_version_name(each.before), version_store.to_version_name(each.after)) for each in change.files
    ]


def pack_versions(change: NoteChange, names: VersionNames, known: Mapping[str, int]) -> list[PackedVersion]:
    """Pack the versions of a change that are not stored yet. ``known``: stored ones, by name, with their depth."""
    return version_store.pack([(each.before, each.after) for each in change.files], names, known)


class UnfinishedChange(Exception):
    """A change was begun and not finished, and its process is gone. If its files were changed now, it could no longer
    be completed."""


@dataclass(frozen=True, slots=True)
class BegunChange:
    """A recorded change. ``kept``: its stored versions with their depth, from ``version_store.store_versions``."""

    seq: int
    id: str
    kept: Mapping[str, int]


def begin_change(
    tx: Writer, actor: Actor, change: NoteChange, names: VersionNames, found: list[PackedVersion]
) -> BegunChange:
    """Record what is about to be done. Raises ``UnfinishedChange``, ``VersionForgotten``."""
    if has_unfinished(tx):
        raise UnfinishedChange
    identity = str(uuid7())
    seq = tx.insert(
        "INSERT INTO note_changes (id, at, who, author, tool, session, summary, state, undoes)"
        " VALUES (:id, :at, :who, :author, :tool, :session, :summary, 'pending', :undoes)",
        {
            "id": identity, "at": clock.now(), "who": actor.identity, "author": actor.name, "tool": change.tool,
            "session": change.session, "summary": change.summary, "undoes": change.undoes,
        },
    )  # fmt: skip
    kept = version_store.store_versions(tx, found, (name for pair in names for name in pair if name))
    tx.many(
        "INSERT INTO note_change_files (change, ordinal, path, to_path, before, after)"
        " VALUES (:change, :ordinal, :path, :to, :before, :after)",
        [
            {"change": seq, "ordinal": place, "path": each.path, "to": each.to, "before": before, "after": after}
            for place, (each, (before, after)) in enumerate(zip(change.files, names, strict=True))
        ],
    )
    return BegunChange(seq, identity, kept)


def finish_change(tx: Writer, seq: int, *, git_owed: bool) -> None:
    """Mark a change as done, in all its files."""
    tx.run(
        "UPDATE note_changes SET state = 'done', git = :git WHERE seq = :seq",
        {"git": "" if git_owed else None, "seq": seq},
    )


def fail_change(tx: Writer, seq: int) -> None:
    """Mark a change as failed: nothing of it is left."""
    tx.run("UPDATE note_changes SET state = 'failed' WHERE seq = :seq", {"seq": seq})


def has_unfinished(tx: Reader) -> bool:
    """Whether a change was begun and not finished: it is being made, or half of it may be on disk."""
    return tx.one("SELECT 1 FROM note_changes WHERE state = 'pending' LIMIT 1") is not None


def list_unfinished(tx: Reader) -> list[ChangeRecord]:
    """Changes that were begun and not finished because their process was killed, oldest first."""
    return _read_records(tx, "c.state = 'pending' ORDER BY c.seq")


def has_uncommitted(tx: Reader) -> bool:
    """Whether there are changes that no commit holds yet."""
    return tx.one("SELECT 1 FROM note_changes WHERE git = '' AND state = 'done' LIMIT 1") is not None


def list_uncommitted(tx: Reader, limit: int) -> list[ChangeRecord]:
    """Changes that no commit holds yet, oldest first."""
    return _read_records(tx, "c.git = '' AND c.state = 'done' ORDER BY c.seq LIMIT :limit", {"limit": limit})


def mark_committed(tx: Writer, numbers: Iterable[int], commit: str) -> None:
    """Record the commit that holds these changes."""
    tx.many("UPDATE note_changes SET git = :git WHERE seq = :seq", [{"git": commit, "seq": seq} for seq in numbers])


def find_change(tx: Reader, ref: str) -> ChangeRecord | None:
    """The change with this id, if any."""
    found = _read_records(tx, "c.id = :id", {"id": ref})
    return found[0] if found else None


def list_changes(
    tx: Reader, path: str | None, limit: int, before: int | None = None, who: str | None = None
) -> list[ChangeRecord]:
    """Finished changes, newest first: of one note or of all, by one principal or by all."""
    where = "c.state = 'done'"
    if path is not None:
        of_note = "SELECT 1 FROM note_change_files f WHERE f.change = c.seq AND (f.path = :path OR f.to_path = :path)"
        where += f" AND EXISTS ({of_note})"
    if before is not None:
        where += " AND c.seq < :before"
    if who is not None:
        where += " AND c.who = :who"
    params = {"path": path, "before": before, "who": who, "limit": limit}
    return _read_records(tx, f"{where} ORDER BY c.seq DESC LIMIT :limit", params)


def is_undone(tx: Reader, identity: str) -> bool:
    """Whether a change is undone, by an undo that was not itself undone."""
    undo = "SELECT id FROM note_changes WHERE undoes = :id AND state = 'done' ORDER BY seq DESC"
    undone_by = tx.value(undo, {"id": identity})
    return undone_by is not None and not is_undone(tx, undone_by)


def first_after(tx: Reader, moment: str) -> int:
    """The lowest number of changes made after a moment."""
    return int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM note_changes WHERE at <= :moment", {"moment": moment})) + 1


def follow_moves(tx: Reader, path: str, seq: int) -> str:
    """Where later changes moved the file that a change left at ``path``."""
    while row := tx.one(
        "SELECT c.seq, f.to_path FROM note_change_files f JOIN note_changes c ON c.seq = f.change"
        " WHERE f.path = :path AND f.to_path IS NOT NULL AND c.seq > :seq AND c.state = 'done' ORDER BY c.seq LIMIT 1",
        {"path": path, "seq": seq},
    ):
        seq, path = row
    return path


def find_recorded_commits(tx: Reader, commits: Iterable[str]) -> set[str]:
    """Those of the given commits that hold changes recorded here."""
    return {each for each in commits if tx.one("SELECT 1 FROM note_changes WHERE git = :git LIMIT 1", {"git": each})}


def find_commit(tx: Reader, seq: int) -> str | None:
    """The commit that holds a change; '' while one is pending, None where none will be made."""
    found: str | None = tx.value("SELECT git FROM note_changes WHERE seq = :seq", {"seq": seq})
    return found


def find_changes_in_commit(tx: Reader, commit: str) -> list[str]:
    """Ids of the changes in the commit whose id starts with ``commit``, newest first."""
    rows = tx.all(
        "SELECT id FROM note_changes WHERE substr(git, 1, :length) = :start AND state = 'done' ORDER BY seq DESC",
        {"length": len(commit), "start": commit},
    )
    return [row[0] for row in rows]


def waive_commit(tx: Writer, seq: int) -> None:
    """Record that no commit will hold this change: its versions are no longer kept, or Git rejects the name."""
    tx.run("UPDATE note_changes SET git = NULL WHERE seq = :seq", {"seq": seq})


def read_version(tx: Reader, name: str | None) -> bytes | None:
    """The bytes of a version; None if there is none, or it is no longer kept."""
    return version_store.read_version(tx, name)


def mark_overwritten(tx: Writer, seq: int, path: str) -> None:
    """Record that another program wrote over what this change had written."""
    tx.run(
        "UPDATE note_change_files SET overwritten = :now WHERE change = :change AND COALESCE(to_path, path) = :path",
        {"now": clock.now(), "change": seq, "path": path},
    )


def find_overwritten(tx: Reader, path: str, since: str) -> list[str]:
    """Ids of changes to a note that another program wrote over since a moment."""
    rows = tx.all(
        "SELECT c.id FROM note_change_files f JOIN note_changes c ON c.seq = f.change"
        " WHERE COALESCE(f.to_path, f.path) = :path AND f.overwritten >= :since ORDER BY c.seq",
        {"path": path, "since": since},
    )
    return [row[0] for row in rows]


def list_touched_paths(tx: Reader, first: int, limit: int) -> list[str]:
    """Paths of notes that tools changed, from change number ``first`` on, newest first."""
    rows = tx.all(
        "SELECT COALESCE(f.to_path, f.path) FROM note_changes c JOIN note_change_files f ON f.change = c.seq"
        " WHERE c.seq >= :first AND c.state = 'done' ORDER BY c.seq DESC LIMIT :limit",
        {"first": first, "limit": limit},
    )
    return list(dict.fromkeys(row[0] for row in rows))


def list_file_changes(tx: Reader, path: str, numbers: range, limit: int) -> list[tuple[int, FileRecord]]:
    """What a range of changes did to the file at a path, including moves to and from it; newest first."""
    one = (
        "SELECT f.change, f.path, f.to_path, f.before, f.after, f.overwritten FROM note_change_files f"
        " JOIN note_changes c ON c.seq = f.change"
        " WHERE f.{} = :path AND f.change >= :first AND f.change < :beyond AND c.state = 'done'"
    )
    rows = tx.all(
        f"{one.format('path')} UNION {one.format('to_path')} ORDER BY 1 DESC LIMIT :limit",
        {"path": path, "first": numbers.start, "beyond": numbers.stop, "limit": limit},
    )
    return [(seq, FileRecord(*file)) for seq, *file in rows]


def prune(tx: Writer, settings: NotesSettings) -> None:
    """Delete the oldest changes beyond the limits, and versions that no change names. Does so every ``PRUNE_EVERY``
    changes."""
    last = int(tx.value("SELECT MAX(seq) FROM note_changes") or 0)
    if last % PRUNE_EVERY:
        return
    tx.run("DELETE FROM note_changes WHERE seq <= :seq AND state <> 'pending'", {"seq": last - settings.versions})
    while version_store.total_size(tx) > settings.versions_mb * 1024 * 1024:
        cut = tx.value(
            "SELECT MAX(seq) FROM"
            " (SELECT seq FROM note_changes WHERE state <> 'pending' AND seq < :last ORDER BY seq LIMIT :limit)",
            {"last": last, "limit": PRUNE_EVERY},
        )
        if cut is None:
            break
        tx.run("DELETE FROM note_changes WHERE seq <= :cut AND state <> 'pending'", {"cut": cut})
        version_store.delete_unreferenced(tx)
    version_store.delete_unreferenced(tx)


_RECORD = "c.seq, c.id, c.at, c.author, c.tool, c.session, c.summary, c.state, c.undoes, c.git"


def _read_records(tx: Reader, where: str, params: Mapping[str, object] | None = None) -> list[ChangeRecord]:
    return [_to_record(tx, row) for row in tx.all(f"SELECT {_RECORD} FROM note_changes c WHERE {where}", params or {})]


def _to_record(tx: Reader, row: Row) -> ChangeRecord:
    files = tx.all(
        "SELECT path, to_path, before, after, overwritten FROM note_change_files WHERE change = :seq ORDER BY ordinal",
        {"seq": row[0]},
    )
    return ChangeRecord(*[*row, [FileRecord(*each) for each in files]])

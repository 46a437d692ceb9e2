"""The files of notes as rows, where the folder is only a view of them: in a cluster, whose servers may burn.

A row names the version that stands in the file, and the bytes are those the journal keeps under that name: an edit
stores its text once. The rows of a change are written in the transaction that says it is done, so that what was
acknowledged is in the vault's log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader, Row, Writer
from vaults.domain.notes.commit import version_store
from vaults.domain.notes.commit.journal import FileChange, VersionNames
from vaults.domain.notes.commit.version_store import PackedVersion
from vaults.domain.notes.index.extraction import compute_digest
from vaults.files.tree import FileContent, FileStamp

MAX_BYTES = 64 * 1024 * 1024
"""Max bytes of a file that is kept as a row: an entry of a vault's log holds 256 MB, packed."""

_COLUMNS = "f.path, f.version, v.size, f.mtime_ns, f.mode"
_FROM = "note_files f JOIN note_versions v ON v.hash = f.version"


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file as its row has it. ``version``: digest of its bytes. ``mode``: permission bits, None for those of new
    files."""

    path: str
    version: str
    size: int
    mtime_ns: int
    mode: int | None = None

    def is_as(self, stamp: FileStamp) -> bool:
        """Whether a file of this stamp is surely this version: which file it is differs from server to server."""
        return (self.size, self.mtime_ns) == (stamp.size, stamp.mtime_ns)


def is_empty(tx: Reader) -> bool:
    """Whether no file is kept as a row, as on one machine."""
    return tx.one("SELECT 1 FROM note_files LIMIT 1") is None


def are_kept(tx: Reader) -> bool:
    """Whether the database has the table: one of an older schema, which is not migrated yet, has none."""
    return tx.one("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'note_files'") is not None


def list_files(tx: Reader) -> list[NoteFile]:
    """Every file, by path."""
    return _from_rows(tx.all(f"SELECT {_COLUMNS} FROM {_FROM} ORDER BY f.path"))


def find_files(tx: Reader, paths: Iterable[str]) -> list[NoteFile]:
    """Those at the given paths, and below them."""
    query = f"SELECT {_COLUMNS} FROM {_FROM} WHERE f.path = :path OR f.path > :within AND f.path < :beyond"
    rows = [row for path in paths for row in tx.all(query, {"path": path, "within": f"{path}/", "beyond": f"{path}0"})]
    return _from_rows(rows)


def iter_contents(tx: Reader) -> Iterator[tuple[NoteFile, bytes | None]]:
    """Every file with its bytes, None where they are lost or damaged."""
    for each in list_files(tx):
        yield each, version_store.read_version(tx, each.version)


@dataclass(frozen=True, slots=True)
class PackedNoteFile:
    """A file as it was read, ready to be kept as a row."""

    path: str
    version: PackedVersion
    mtime_ns: int
    mode: int | None


def pack_file(path: str, content: FileContent, mode: int | None = None) -> PackedNoteFile:
    """Blocking, and most of the cost of keeping a file."""
    name = compute_digest(content.data)
    (version,) = version_store.pack([(None, content.data)], [(None, name)], {})
    return PackedNoteFile(path, version, content.stamp.mtime_ns, mode)


def store(tx: Writer, found: PackedNoteFile) -> None:
    """Keep a file that no change by a tool made."""
    version_store.store_versions(tx, [found.version], [])
    put(tx, found.path, found.version.hash, found.mtime_ns, found.mode)


def settle(tx: Writer, found: Mapping[str, PackedNoteFile | None]) -> None:
    """Have the rows say what was found at these paths; None: nothing."""
    for path, each in found.items():
        if each is None:
            drop(tx, path)
        else:
            store(tx, each)


def put(tx: Writer, path: str, version: str, mtime_ns: int, mode: int | None = None) -> None:
    """A file that was made or replaced, whose bytes are kept by now. ``mode`` None: as it was."""
    before = _version_at(tx, path)
    tx.run(
        "INSERT INTO note_files (path, version, mtime_ns, mode) VALUES (:path, :version, :mtime_ns, :mode)"
        " ON CONFLICT (path) DO UPDATE SET version = excluded.version, mtime_ns = excluded.mtime_ns,"
        " mode = COALESCE(excluded.mode, mode)",
        {"path": path, "version": version, "mtime_ns": mtime_ns, "mode": mode},
    )
    if before is not None and before != version:
        version_store.forget_unreferenced(tx, [before])


def drop(tx: Writer, path: str) -> None:
    """A file that is gone."""
    before = _version_at(tx, path)
    tx.run("DELETE FROM note_files WHERE path = :path", {"path": path})
    if before is not None:
        version_store.forget_unreferenced(tx, [before])


def clear(tx: Writer) -> None:
    """Keep no file as a row any more."""
    versions = [row[0] for row in tx.all("SELECT DISTINCT version FROM note_files")]
    tx.run("DELETE FROM note_files")
    version_store.forget_unreferenced(tx, versions)


def record_change(
    tx: Writer, files: Sequence[FileChange], names: VersionNames, stamps: Mapping[str, FileStamp]
) -> None:
    """The files of a change by a tool, once they are in place. ``stamps``: by path, as they were placed."""
    modes = {each.path: _mode_at(tx, each.path) for each in files if each.to is not None}
    for each, (_, after) in zip(files, names, strict=True):
        if each.to is not None or after is None:
            drop(tx, each.path)
    for each, (_, after) in zip(files, names, strict=True):
        if after is not None:
            put(tx, each.target, after, stamps[each.target].mtime_ns, modes.get(each.path))


def _version_at(tx: Reader, path: str) -> str | None:
    found: str | None = tx.value("SELECT version FROM note_files WHERE path = :path", {"path": path})
    return found


def _mode_at(tx: Reader, path: str) -> int | None:
    found: int | None = tx.value("SELECT mode FROM note_files WHERE path = :path", {"path": path})
    return found


def _from_rows(rows: Iterable[Row]) -> list[NoteFile]:
    return [NoteFile(*row) for row in rows]

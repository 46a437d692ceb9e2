"""Notes as tools left them at a commit: those of a backup, and what the journal says was done to them since.

The journal is part of the database, and holds the bytes of every version a change names. What other programs wrote into
the folder between the backup and the commit is in neither.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ops.backup.member_paths import why_unusable
from ops.change_log.failures import broken_log
from vaults.db.database_copy import open_copy
from vaults.db.sql import Reader
from vaults.domain.notes.commit.version_store import read_version
from vaults.domain.notes.index.extraction import compute_digest
from vaults.files.atomic import write_atomic

NEW_NOTE_MODE = 0o644


@dataclass(frozen=True, slots=True)
class NotesReplayed:
    """``unknown``: paths whose version is kept no longer, in order; they are as the backup has them."""

    written: int
    removed: int
    unknown: tuple[str, ...]


def read_pending(database: Path) -> set[int]:
    """The changes that were under way in a database: a backup of it may have the files as they were before."""
    with open_copy(database) as tx:
        return {seq for (seq,) in tx.all("SELECT seq FROM note_changes WHERE state = 'pending'")}


def rebuild_notes(database: Path, notes: Path, *, after: int, pending: Collection[int] = ()) -> NotesReplayed:
    """Bring ``notes``, the folder as a backup has it, to what tools had made of it when ``database`` was as it is.
    ``after`` is the last change the backup holds, but for those ``pending`` in it. Changes under way in ``database``
    are left to whoever opens it. Blocking. Raises ``InvalidArgument`` for a path that can be no note's."""
    with open_copy(database) as tx:
        wanted = dict(_last_versions(tx, after, pending))
        moved = dict(_read_moved(notes, wanted))
        written, removed, unknown = 0, 0, list[str]()
        for path, name in sorted(wanted.items(), key=lambda each: each[1] is not None):  # what goes makes room first
            if name is None:
                removed += _remove(notes, path)
                continue
            data = read_version(tx, name) or moved.get(name)
            if data is None:
                unknown.append(path)
                continue
            target = notes / path
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(target.stat().st_mode) if target.is_file() else NEW_NOTE_MODE
            write_atomic(target, data, mode)
            written += 1
    return NotesReplayed(written, removed, tuple(sorted(unknown)))


def _last_versions(tx: Reader, after: int, pending: Collection[int]) -> Iterator[tuple[str, str | None]]:
    """Paths with the digest of what lies there, None for nothing: the last of a path counts."""
    rows = tx.all(
        "SELECT c.seq, f.path, f.to_path, f.after FROM note_changes c JOIN note_change_files f ON f.change = c.seq"
        " WHERE c.state = 'done' ORDER BY c.seq, f.ordinal"
    )
    for seq, path, to, name in rows:
        if seq <= after and seq not in pending:
            continue
        for each in (path, to):
            if each is not None and (reason := why_unusable(each)):
                raise broken_log(f"names a note whose path {reason}")
        if to is not None:
            yield path, None
        yield to or path, name


def _read_moved(notes: Path, wanted: dict[str, str | None]) -> Iterator[tuple[str, bytes]]:
    """What lies where notes are taken away, by its digest: a note that was only moved is still there."""
    for path, name in wanted.items():
        if name is None:
            with suppress(OSError):
                data = (notes / path).read_bytes()
                yield str(compute_digest(data)), data


def _remove(notes: Path, path: str) -> int:
    target = notes / path
    try:
        target.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return 0
    for folder in target.relative_to(notes).parents:
        if folder == Path():
            break
        try:
            (notes / folder).rmdir()
        except OSError:  # others lie there
            break
    return 1

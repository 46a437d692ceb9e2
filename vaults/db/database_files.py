"""What a database's files allow: writing, or only reading, and then how SQLite can read them.

In a folder that cannot be written SQLite cannot make the ``-shm`` file a WAL database needs. Where both ``-wal`` and
``-shm`` are there it reads them as they are; where nothing waits in a ``-wal`` the database file is all there is and
may be opened ``immutable``. Such a connection never notices that the file changed: whoever keeps one compares
``DatabaseFiles``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from vaults.files.permissions import FILE_MODE, make_private_file, tighten_permissions


@dataclass(frozen=True, slots=True)
class DatabaseFiles:
    """What tells one state of a database's files from another."""

    writable: bool
    database: tuple[int, int, int] | None
    """Inode, modification time in nanoseconds, bytes; None where there is no database."""
    wal_bytes: int | None
    shared: bool
    """Whether there is a ``-shm`` file."""

    @property
    def size(self) -> int:
        """Bytes of the database; 0 where there is none yet."""
        return self.database[2] if self.database else 0

    @property
    def frozen(self) -> bool:
        """Whether the database can only be read as a file that does not change."""
        complete = self.wal_bytes is not None and self.shared
        return not self.writable and not self.wal_bytes and not complete


def inspect_files(path: Path) -> DatabaseFiles:
    """The files of the database at ``path`` now. A few system calls."""
    wal, shared = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    found, log = _stat(path), _stat(wal)
    state = (found.st_ino, found.st_mtime_ns, found.st_size) if found else None
    return DatabaseFiles(is_writable(path.parent), state, log.st_size if log else None, shared.exists())


def make_private(path: Path, files: DatabaseFiles) -> None:
    """Let nobody else read a database, its WAL and its ``-shm``. Call before SQLite makes or opens them: it gives a WAL
    the permissions of its database."""
    if files.database is None and files.writable:
        make_private_file(path)
    for end in ("", "-wal", "-shm"):
        tighten_permissions(path.with_name(path.name + end), FILE_MODE)


def is_writable(folder: Path) -> bool:
    """Whether this process may make files in ``folder``. False where it does not exist."""
    return os.access(folder, os.W_OK | os.X_OK)


def readable_uri(path: Path, files: DatabaseFiles) -> str:
    """How to open a database whose folder cannot be written."""
    return f"file:{quote(str(path))}?mode=ro{'&immutable=1' if files.frozen else ''}"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None

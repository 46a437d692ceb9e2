"""A faithful copy of a live database, made while others write to it. The one way here to copy a database.

The connection it is read from holds one read transaction for the whole copy: what it reads is one moment, and the copy
never starts again because somebody commits, as SQLite's backup otherwise does. Nobody waits for it; the WAL cannot be
emptied meanwhile and grows by what is written. The copy is one file, without a WAL, and is only ever read as a file
that does not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
from vaults.db.failures import damaged_error, translate_sqlite_errors
from vaults.db.sql import Reader
from vaults.settings import StorageSettings

STEP_PAGES = 512
"""Pages copied in one step, 2 MB: a millisecond or two, without the interpreter's lock."""


CACHE_BYTES = 4096 * 1024
"""What SQLite keeps of a copy before it writes it to the file."""


class CopyPace(Protocol):
    """Who says how fast a copy is made, and may end it by raising."""

    def spend(self, count: int) -> None:
        """So many bytes were copied."""

    def check(self) -> None:
        """Something else took its time."""


class FullSpeed:
    """A pace for those who wait for nobody."""

    def spend(self, count: int) -> None: ...
    def check(self) -> None: ...


class DatabaseSnapshot:
    """A live database at the moment ``take`` was called. Blocking; get one from ``open_snapshot``."""

    def __init__(self, raw: sqlite.Connection) -> None:
        self._raw = raw
        self.reader = Reader(raw)
        """Reads the present before ``take``, and that moment afterwards."""

    def take(self) -> None:
        """Stop time: whatever is committed from now on is not seen."""
        with translate_sqlite_errors():
            self._raw.execute("BEGIN")
            self._raw.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()

    def copy_to(self, path: Path, pace: CopyPace) -> None:
        """Copy all of it to the new file ``path``, in steps. Nothing is synced. Raises ``VaultQuarantined``,
        ``StorageFull``, and what ``pace`` raises."""
        size = int(self.reader.value("PRAGMA page_size"))
        left = -1

        def after_step(_status: int, remaining: int, total: int) -> None:
            nonlocal left
            pace.spend(((total if left < 0 else left) - remaining) * size)
            left = remaining

        with translate_sqlite_errors(), closing(sqlite.connect(path, isolation_level=None)) as copy:
            # Thrown away unless all of it succeeds: no journal, and whoever keeps the copy syncs it.
            copy.execute("PRAGMA journal_mode=OFF")
            copy.execute("PRAGMA synchronous=OFF")
            copy.execute(f"PRAGMA cache_size=-{CACHE_BYTES // 1024}")
            self._raw.backup(copy, pages=STEP_PAGES, progress=after_step)
        path.chmod(0o600)


@contextmanager
def open_snapshot(path: Path, settings: StorageSettings) -> Iterator[DatabaseSnapshot]:
    """A connection of its own to the live database at ``path``, which must exist."""
    with translate_sqlite_errors():
        raw = open_raw(path, settings, writer=False)
    try:
        yield DatabaseSnapshot(raw)
    finally:
        raw.close()


@contextmanager
def open_copy(path: Path) -> Iterator[Reader]:
    """Reads a copy as the file it is: makes no WAL beside it."""
    with (
        translate_sqlite_errors(),
        closing(
            sqlite.connect(
                f"file:{quote(str(path))}?mode=ro&immutable=1",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
        ) as raw,
    ):
        raw.execute("PRAGMA query_only=ON")
        raw.execute(f"PRAGMA cache_size=-{CACHE_BYTES // 1024}")
        yield Reader(raw)


def refuse_damaged(path: Path, pace: CopyPace) -> None:
    """Raise ``VaultQuarantined`` unless SQLite's quick check finds the copy at ``path`` whole."""
    with open_copy(path) as copy:
        tables = copy.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage")
        for table in ("sqlite_schema", *(str(name) for (name,) in tables)):
            # Table by table, so that it can be stopped. What a full-text table means is another matter than whether its
            # pages are sound: that it is derived, and ``verify`` compares it.
            if copy.value("SELECT * FROM pragma_quick_check(:table) LIMIT 1", {"table": table}) != "ok":
                raise damaged_error()
            pace.check()


def size_of(database: Path) -> int:
    """Bytes that a copy takes at most. Blocking."""
    log = database.with_name(f"{database.name}-wal")
    return database.stat().st_size + (log.stat().st_size if log.exists() else 0)

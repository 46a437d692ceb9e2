"""Another system's SQLite file, read without changing it or anything beside it.

A file whose program may have it open is copied to a private folder with its journal, and the copy is read. What is left
alone is read in place, as a file that nobody changes: SQLite then takes no lock and makes no file beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import clean_text

MAX_VALUE = 32 << 20
"""Max bytes of one value or row that is read; a larger one is passed over."""

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_JOURNALS = ("-wal", "-journal")
_COPY_TRIES, _COPY_WAIT_S = 20, 0.1
_BEFORE_ALL, _LAST_ROWID = -(2**63), 2**62
_PATIENCE = 200
"""Rowids of a damaged page that are tried one by one; then the steps grow."""

FileStamp: TypeAlias = tuple[int, ...]
Row: TypeAlias = dict[str, Any]
"""A row by its columns, texts cleaned; a column that the file does not have is None."""


@dataclass(frozen=True, slots=True)
class DamagedRows:
    """Rows of a table that cannot be read. ``after``: the last rowid before them; None where there is none."""

    after: int | None
    reason: str


class SqliteFile:
    """An opened file. Rows come in the order they were first written."""

    def __init__(self, connection: sqlite3.Connection, path: Path, stamp: FileStamp | None) -> None:
        self._db = connection
        self._path, self._stamp = path, stamp
        self.tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none if there is no such table."""
        if table not in self.tables:
            return frozenset()
        return frozenset(row[1] for row in self._db.execute(f"PRAGMA table_info({_quoted(table)})"))

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with these columns."""
        return table in self.tables and self.columns(table).issuperset(columns)

    def count(self, *tables: str) -> int:
        """Rows of tables, as far as they are there and can be counted."""
        total = 0
        for table in self.tables.intersection(tables):
            try:
                total += self._db.execute(f"SELECT COUNT(*) FROM {_quoted(table)}").fetchone()[0]
            except sqlite3.Error:  # damaged: reading it will say so
                continue
        return total

    def count_filled(self, table: str, column: str) -> int:
        """Rows of a table whose column holds something."""
        if not self.has(table, column):
            return 0
        own = _quoted(column)
        return sum(
            n for (n,) in self.query(f"SELECT COUNT(*) FROM {_quoted(table)} WHERE {own} NOT NULL AND {own} <> ''")
        )

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a statement; none where it fails. For lookups, and for temporary tables beside the file."""
        try:
            yield from self._db.execute(sql, parameters)
        except sqlite3.Error:
            return

    def first(self, sql: str, parameters: Sequence[Any] = ()) -> Any | None:
        """The first value of the first row of a statement; None without one."""
        return next((row[0] for row in self.query(sql, parameters)), None)

    def note(self, table: str, select: str, columns: Sequence[str]) -> None:
        """Keep what a statement finds in a temporary table, each column with an index; nothing where it fails."""
        try:
            self._db.execute(f"CREATE TEMP TABLE {table} AS {select}")
        except sqlite3.Error:
            self._db.execute(f"CREATE TEMP TABLE {table} ({', '.join(columns)})")
        for column in columns:
            self._db.execute(f"CREATE INDEX temp.{table}_{column} ON {table} ({column})")

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[int, Row] | DamagedRows]:
        """The rows of a table with their rowids; what is wrong with places that cannot be read, then what follows."""
        known = self.columns(table)
        if not known:
            return
        wanted = ", ".join(_quoted(name) if name in known else "NULL" for name in columns)
        select = f"SELECT rowid, {wanted} FROM {_quoted(table)} WHERE rowid"
        after, failed = _BEFORE_ALL, 0
        while after is not None and after < _LAST_ROWID:
            try:
                for rowid, *values in self._db.execute(f"{select} > ? ORDER BY rowid", (after,)):
                    after, failed = rowid, 0
                    yield rowid, dict(zip(columns, values, strict=True))
                return  # noqa: TRY300  what stands behind the clause is for failures
            except sqlite3.Error as failure:
                reason = _describe(failure)
            # The cursor is a row ahead: what failed is the next row, or the one after it.
            (rowid,) = next(self.query(f"SELECT MIN(rowid) FROM {_quoted(table)} WHERE rowid > ?", (after,)), (-1,))
            again = list(self.query(f"{select} = ?", (rowid,)))
            yield from ((rowid, dict(zip(columns, values, strict=True))) for rowid, *values in again)
            if not again and (rowid != -1 or not failed):
                yield DamagedRows(after if after > _BEFORE_ALL else None, reason)
            failed = 0 if again else failed + 1
            after = rowid if rowid != -1 else max(after, 0) + (1 << max(0, failed - _PATIENCE))

    def has_changed(self) -> bool:
        """Whether somebody wrote to the file while it was read in place."""
        return self._stamp is not None and self._stamp != _stamp(self._path)


@contextmanager
def open_sqlite(path: Path) -> Iterator[SqliteFile]:
    """The file at ``path``. Raises ``InvalidArgument`` for what is no SQLite file, or is damaged or cut off."""
    with ExitStack() as opened:
        try:
            uri, stamp = _prepare(path, opened)
            connection = opened.enter_context(closing(sqlite3.connect(uri, uri=True, check_same_thread=False)))
            connection.isolation_level = None
            connection.text_factory = _to_text
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.execute("PRAGMA trusted_schema = OFF")
            file = SqliteFile(connection, path, stamp)
        except OSError as failure:
            raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror or failure}") from failure
        except sqlite3.Error as failure:
            raise InvalidArgument("PATH", f"{path} {_describe(failure)}") from failure
        yield file


def _prepare(path: Path, opened: ExitStack) -> tuple[str, FileStamp | None]:
    """The address of what to open, and the stamp of the file if it is read in place."""
    head, stamp = _read_header(path), _stamp(path)
    journals = [each for each in _JOURNALS if path.with_name(path.name + each).exists()]
    # In WAL mode, whoever has the file open has a journal beside it. Else there is no telling.
    if head[18] == 2 and not journals:
        _check_whole(head, stamp[0])
        return f"{_to_uri(path.resolve())}?mode=ro&immutable=1", stamp
    folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="strongroom-import-"))
    copy = _copy_settled(path, Path(folder))
    if not journals:
        _check_whole(head, copy.stat().st_size)
    return f"{_to_uri(copy)}?mode=rw", None


def _read_header(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidArgument("PATH", f"{path} is no file")
    with path.open("rb") as file:
        head = file.read(_HEADER)
    if not head:
        raise InvalidArgument("PATH", f"{path} is empty")
    if len(head) < _HEADER or not head.startswith(_MAGIC):
        raise InvalidArgument("PATH", f"{path} is no SQLite file, or an encrypted one")
    return head


def _check_whole(head: bytes, size: int) -> None:
    """Raises ``InvalidArgument`` where the file has fewer bytes than it says of itself."""
    page = int.from_bytes(head[16:18])
    pages = int.from_bytes(head[28:32]) if head[24:28] == head[92:96] else 0
    if (whole := pages * (65_536 if page == 1 else page)) > size:
        raise InvalidArgument(
            "PATH", f"is cut off: it has {size:,} of {whole:,} bytes", hint="copy it once more, whole"
        )


def _copy_settled(path: Path, folder: Path) -> Path:
    """A copy of the file and its journals, made while nobody wrote to them. Raises ``InvalidArgument``."""
    copy = folder / "copy.db"
    for _ in range(_COPY_TRIES):
        before = _stamps(path)
        for each in ("", *_JOURNALS):
            source, target = path.with_name(path.name + each), copy.with_name(copy.name + each)
            target.unlink(missing_ok=True)
            if source.is_symlink() and each:
                raise InvalidArgument("PATH", f"{source.name} beside it is a link")
            if source.exists():
                shutil.copyfile(source, target)
        # Frames that are only added to a WAL do no harm: a half one at its end is not read.
        if before == _stamps(path):
            return copy
        time.sleep(_COPY_WAIT_S)
    hint = "stop the program that uses it, then import again"
    raise InvalidArgument("PATH", f"{path} is locked: another program writes to it all the time", hint=hint)


def _stamps(path: Path) -> tuple[object, ...]:
    journal = path.with_name(path.name + "-journal")
    return (_stamp(path), _stamp(journal) if journal.exists() else None)


def _stamp(path: Path) -> FileStamp:
    found = path.stat()
    return (found.st_size, found.st_mtime_ns, found.st_ino)


def _to_uri(path: Path) -> str:
    return f"file:{quote(str(path))}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _to_text(data: bytes) -> str:
    return clean_text(data.decode("utf-8", "replace"))


def _describe(failure: sqlite3.Error) -> str:
    said = str(failure)
    if "malformed" in said or "disk image" in said:
        return "is damaged"
    if "too big" in said:
        return f"has more than {MAX_VALUE >> 20} MB in one place"
    if "not a database" in said:
        return "is no SQLite file, or an encrypted one"
    if "locked" in said:
        return "is locked by another program"
    return "cannot be read"

"""One database file: one writer with group commit, a few readers, all on aiosqlite's threads.

A write is a plain function of a ``Writer``. Whatever functions are waiting when the writer is free run in one
``BEGIN IMMEDIATE``, each inside its own savepoint, and share one commit and so one fsync: no timer, no added
latency for a lone writer, a full batch under load. A function that raises is undone alone; a commit that fails fails
all of its group, and none was acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import aiosqlite

from vaults.change_notes import ChangeNote, ChangeNotes
from vaults.context import changes_of_call
from vaults.db import database_files
from vaults.db.commit_log import CommitLog, NoCommitLog
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader, Writer
from vaults.errors import ReadOnly, StrongroomError, VaultUnavailable
from vaults.observer import NullObserver, Observer
from vaults.settings import StorageSettings

T = TypeVar("T")

CommitMark = tuple[int, int]
"""Modification time in nanoseconds and bytes of the WAL, as ``Database.mark`` reads them."""

GROUP_LIMIT = 64
"""Max transactions per commit: bounds how long the first of a group waits for the last."""

WRITER_STATEMENTS, READER_STATEMENTS = 256, 64
"""Max compiled statements a connection keeps. An edit of a note, with what follows it, has more than 64: each was
compiled anew at each edit, a fifth of what its rows cost."""


@dataclass(slots=True)
class _PendingWrite(Generic[T]):
    work: Callable[[Writer], T]
    done: asyncio.Future[T]
    uncounted: bool
    exclusive: bool = False
    notes: ChangeNotes | None = None  # of the call, for its audit
    changes: list[ChangeNote] = field(default_factory=list)

    def resolve(self, outcome: Any) -> None:
        """Tell the audit and whoever waits, if anybody still does: the call may have run out of time meanwhile."""
        if self.changes and self.notes is not None and not isinstance(outcome, BaseException):
            self.notes.add(self.changes)
        _resolve(self.done, outcome)


class Database:
    """An open database. ``close`` is idempotent: it refuses new work, drains, then closes for ever."""

    is_shared = False

    def __init__(
        self,
        path: Path,
        settings: StorageSettings,
        observer: Observer | None = None,
        log: CommitLog | None = None,
    ) -> None:
        self.path = path
        self.log = log or NoCommitLog()
        self._settings = settings
        self.observer = observer or NullObserver()
        self._writer: aiosqlite.Connection | None = None
        self._free_readers: list[aiosqlite.Connection] = []
        self._frozen: dict[aiosqlite.Connection, database_files.DatabaseFiles] = {}
        self._watcher: aiosqlite.Connection | None = None
        self._watches = 0
        self._watching = asyncio.Lock()
        self._reader_slots = asyncio.Semaphore(settings.readers)
        self._pending: deque[_PendingWrite[Any]] = deque()
        self._drain: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run ``work`` in one read snapshot: one thread hop."""
        self._refuse_if_closed()
        async with self._reader_slots:
            connection = await self._reader()
            try:
                return await _on_thread(connection, _run_in_snapshot, connection, work, self.log)
            finally:
                self._free_readers.append(connection)

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Run ``work`` in a transaction and return once it is durable.

        A caller that is cancelled after its work began does not stop it: the write is whole or absent.
        """
        return await self._queue_write(work, uncounted=False)

    async def write_uncounted(self, work: Callable[[Writer], T]) -> T:
        """``write`` for bookkeeping that no search reads: cached results of searches stay valid."""
        return await self._queue_write(work, uncounted=True)

    async def write_exclusive(self, work: Callable[[Writer], T]) -> T:
        """``write`` for what changes thousands of rows: it shares its transaction with nobody."""
        return await self._queue_write(work, uncounted=False, exclusive=True)

    async def _queue_write(self, work: Callable[[Writer], T], *, uncounted: bool, exclusive: bool = False) -> T:
        self._refuse_if_closed()
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        notes = changes_of_call()
        if notes is not None:
            notes.expect(done)
        self._pending.append(_PendingWrite(work, done, uncounted, exclusive, notes))
        if self._drain is None or self._drain.done():
            self._drain = asyncio.create_task(self._drain_pending())
        return await asyncio.shield(done)

    async def checkpoint(self) -> None:
        """Move the WAL into the database file and empty it (after a purge, before a copy)."""
        await self.run_on_writer(self._empty_wal)

    def _empty_wal(self, raw: sqlite.Connection) -> None:
        self.log.before_checkpoint(raw)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    async def run_on_writer(self, work: Callable[[sqlite.Connection], T]) -> T:
        """Run ``work`` on the writer connection outside of a transaction (pragmas, backup, VACUUM)."""
        self._refuse_if_closed()
        writer = await self._open_writer()
        return await _on_thread(writer, _run_logged, writer, work, self.log)

    async def version(self) -> tuple[int, int]:
        """A mark that changes with every commit, here or in another process. One thread hop."""
        self._refuse_if_closed()
        # PRAGMA data_version counts the commits of other connections and means something on one and the same
        # connection only: this one is kept, never writes, and its number is part of the mark.
        async with self._watching:
            if self._watcher is not None and self._is_outdated(self._watcher):
                await self._forget(self._watcher)
                self._watcher = None
            if self._watcher is None:
                self._watcher = await self._connect(writer=False)
                self._watches += 1
            return self._watches, await _on_thread(self._watcher, _run_raw, self._watcher, _data_version)

    def mark(self) -> CommitMark | None:
        """A cheaper mark that changes with commits, here or in another process: time and size of the WAL, which every
        commit is added to. Costs one look at a file, no thread; two commits within a tick of the file system's clock
        may look like one. None where there is no WAL."""
        try:
            wal = self.path.with_name(f"{self.path.name}-wal").stat()
        except OSError:
            return None
        return wal.st_mtime_ns, wal.st_size

    async def rest(self) -> None:
        """Close every connection nothing is using; the next call opens what it needs (under a millisecond). Call only
        while nobody holds the vault."""
        idle, self._free_readers = self._free_readers, []
        if (self._drain is None or self._drain.done()) and self._writer is not None:
            idle, self._writer = [*idle, self._writer], None
        await self._forget_all(idle)

    async def close(self) -> None:
        """Finish what was accepted, then close every connection and its thread."""
        self._closed = True
        if self._drain is not None:
            await self._drain
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(self._settings.readers):
                await stack.enter_async_context(self._reader_slots)  # waits for reads under way
            await stack.enter_async_context(self._watching)
            open_now = [*self._free_readers, *(each for each in (self._watcher, self._writer) if each is not None)]
            self._free_readers, self._watcher, self._writer = [], None, None
            await self._forget_all(open_now)
        await self.log.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise VaultUnavailable("the vault was closed while the call waited", hint="call again")

    async def _drain_pending(self) -> None:
        while self._pending:
            group = self._next_group()
            started = time.perf_counter()
            try:
                writer = await self._open_writer()
                outcomes = await _on_thread(writer, _commit_group, writer, group, self.log)
            except Exception as failure:  # noqa: BLE001  every waiter of the group gets the failure
                outcomes = [self._explain_failure(failure)] * len(group)
                await self._discard_writer()
            self.observer.on_commit(len(group), time.perf_counter() - started)
            for pending, outcome in zip(group, outcomes, strict=True):
                pending.resolve(outcome)

    def _next_group(self) -> list[_PendingWrite[Any]]:
        group: list[_PendingWrite[Any]] = []
        while self._pending and len(group) < GROUP_LIMIT:
            if group and (group[-1].exclusive or self._pending[0].exclusive):
                break
            pending = self._pending.popleft()
            if not pending.done.cancelled():
                group.append(pending)
        return group

    async def _discard_writer(self) -> None:
        # After a failed fsync the kernel may have dropped the pages: the next write starts on a new connection
        # that reads what is really there; the failed commit is never tried again.
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(sqlite.Error):
                await _close(writer)

    def _explain_failure(self, failure: Exception) -> Exception:
        """A file system that turned read-only under an open database answers writes with plain I/O errors."""
        if (
            isinstance(failure, VaultUnavailable)
            and self.path.exists()
            and not database_files.is_writable(self.path.parent)
        ):
            return _read_only()
        return failure

    async def _reader(self) -> aiosqlite.Connection:
        while self._free_readers:
            connection = self._free_readers.pop()
            if not self._is_outdated(connection):
                return connection
            await self._forget(connection)
        return await self._connect(writer=False)

    def _is_outdated(self, connection: aiosqlite.Connection) -> bool:
        """Whether a connection opened as immutable no longer matches its file."""
        return connection in self._frozen and self._frozen[connection] != database_files.inspect_files(self.path)

    async def _forget_all(self, connections: Sequence[aiosqlite.Connection]) -> None:
        """Each of them, also where whoever waits for the first one is cancelled: nobody else knows of the others."""
        if connections:
            try:
                await self._forget(connections[0])
            finally:
                await self._forget_all(connections[1:])

    async def _forget(self, connection: aiosqlite.Connection) -> None:
        self._frozen.pop(connection, None)
        await _close(connection)

    async def _open_writer(self) -> aiosqlite.Connection:
        async with self._opening:
            if self._writer is None:
                if self.path.exists() and not database_files.is_writable(self.path.parent):
                    raise _read_only()
                self._writer = await self._connect(writer=True)
            return self._writer

    async def _connect(self, *, writer: bool) -> aiosqlite.Connection:
        if not writer and not self.log.has_begun:
            await self._open_writer()
        opening = self._open_logged if writer else partial(open_raw, self.path, self._settings, writer=False)
        connection = aiosqlite.Connection(opening, iter_chunk_size=64)
        connection._thread.name = f"sqlite-{'w' if writer else 'r'}"
        before = database_files.inspect_files(self.path)
        try:
            with translate_sqlite_errors():
                await connection
        except BaseException:
            connection._thread.join()  # it was told to stop: it must not outlive the event loop
            raise
        if before.frozen and not writer:
            self._frozen[connection] = before
        return connection

    def _open_logged(self) -> sqlite.Connection:
        raw = open_raw(self.path, self._settings, writer=True)
        try:
            self.log.after_open(raw)
        except BaseException:
            raw.close()
            raise
        return raw


def open_raw(path: Path, settings: StorageSettings, *, writer: bool) -> sqlite.Connection:
    """A driver connection with every pragma set. Blocking; used by the async side, migrations and checks. Where the
    folder cannot be written, a writer can only read, too."""
    files = database_files.inspect_files(path)
    raw = _open_files(path, files, settings, WRITER_STATEMENTS if writer else READER_STATEMENTS)
    try:
        if not writer:
            raw.execute("PRAGMA query_only=ON")
            raw.execute("PRAGMA cache_size=-1000")
        elif not _is_read_only(files):
            if not files.size:  # before the first page: a database with tables would have to be rewritten for it
                raw.execute("PRAGMA auto_vacuum=INCREMENTAL")
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute(f"PRAGMA synchronous={settings.synchronous.upper()}")
            raw.execute("PRAGMA secure_delete=ON")
            raw.execute("PRAGMA cache_size=-2000")
    except BaseException:
        raw.close()
        raise
    return raw


def open_snapshot_holder(path: Path, settings: StorageSettings) -> sqlite.Connection:
    """A connection for whoever holds a snapshot and reads no table. None of its pragmas has SQLite read the schema,
    which takes a millisecond: most of what opening a connection costs. Blocking."""
    raw = _open_files(path, database_files.inspect_files(path), settings, READER_STATEMENTS)
    try:
        raw.execute("PRAGMA query_only=ON")
    except BaseException:
        raw.close()
        raise
    return raw


def _open_files(
    path: Path, files: database_files.DatabaseFiles, settings: StorageSettings, kept: int
) -> sqlite.Connection:
    read_only = _is_read_only(files)
    target = database_files.readable_uri(path, files) if read_only else path
    if not read_only:
        database_files.make_private(path, files)
    raw = sqlite.connect(target, uri=read_only, isolation_level=None, check_same_thread=False, cached_statements=kept)
    try:
        raw.execute(f"PRAGMA busy_timeout={settings.busy_timeout_ms}")
        raw.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        raw.close()
        raise
    return raw


def _is_read_only(files: database_files.DatabaseFiles) -> bool:
    return files.database is not None and not files.writable


async def _on_thread(connection: aiosqlite.Connection, fn: Callable[..., T], *args: Any) -> T:
    # One function per transaction costs one thread hop; aiosqlite's public calls cost one per statement.
    with translate_sqlite_errors():
        result: T = await connection._execute(fn, *args)  # type: ignore[no-untyped-call]
        return result


def _read_only() -> ReadOnly:
    return ReadOnly("the vault's files cannot be written", hint="the operator must check mount and owner")


def _data_version(raw: sqlite.Connection) -> int:
    return int(raw.execute("PRAGMA data_version").fetchone()[0])


async def _close(connection: aiosqlite.Connection) -> None:
    try:
        await connection.close()
    except asyncio.CancelledError:
        connection._thread.join()  # it was told to stop: it must not outlive the event loop, which it tells of that
        raise
    connection._thread.join()  # it has nothing left to do: microseconds, and no thread outlives its vault


def _run_raw(connection: aiosqlite.Connection, work: Callable[[sqlite.Connection], T]) -> T:
    return work(connection._conn)


def _run_logged(connection: aiosqlite.Connection, work: Callable[[sqlite.Connection], T], log: CommitLog) -> T:
    raw = connection._conn
    try:
        return work(raw)
    finally:
        log.after_commit(raw)


def _run_in_snapshot(connection: aiosqlite.Connection, work: Callable[[Reader], T], log: CommitLog) -> T:
    raw = connection._conn
    raw.execute("BEGIN")
    try:
        return work(Reader(raw))
    finally:
        raw.execute("ROLLBACK")
        log.before_answer()  # also where it failed: that something is not there is an answer


def _commit_group(connection: aiosqlite.Connection, group: list[_PendingWrite[Any]], log: CommitLog) -> list[Any]:
    """Run each work in its savepoint, commit once, tell ``log``. Returns a result or an exception for each."""
    raw = connection._conn
    outcomes: list[Any] = []
    counts = False
    run = _in_savepoint if len(group) > 1 else _in_transaction
    raw.execute("BEGIN IMMEDIATE")
    try:
        for pending in group:
            before = raw.total_changes
            outcome = run(raw, pending)
            outcomes.append(outcome)
            changed = raw.total_changes != before and not isinstance(outcome, Exception)
            counts = counts or (changed and not pending.uncounted)
        if counts:
            Writer(raw).count_change()
        log.before_commit()
        raw.execute("COMMIT")
    except BaseException:
        # After some errors (disk full) SQLite has already rolled back; a second ROLLBACK would hide the cause.
        with contextlib.suppress(sqlite.Error):
            raw.execute("ROLLBACK")
        with contextlib.suppress(StrongroomError):  # the cause is raised
            log.after_failed_commit(raw)
        raise
    log.after_commit(raw)
    return outcomes


def _in_transaction(raw: sqlite.Connection, pending: _PendingWrite[Any]) -> Any:
    """Run the only work of a transaction, without a savepoint: in one, each statement takes longer the more was changed
    before it, because SQLite walks an in-memory list of the original pages. Ten thousand notes took minutes."""
    try:
        with translate_sqlite_errors():
            return pending.work(Writer(raw, pending.changes))
    except Exception as failure:
        if not raw.in_transaction:
            raise
        raw.execute("ROLLBACK")
        raw.execute("BEGIN")
        return failure


def _in_savepoint(raw: sqlite.Connection, pending: _PendingWrite[Any]) -> Any:
    raw.execute("SAVEPOINT one")
    try:
        with translate_sqlite_errors():
            result = pending.work(Writer(raw, pending.changes))
    except Exception as failure:
        if not raw.in_transaction:
            raise
        raw.execute("ROLLBACK TO one")
        raw.execute("RELEASE one")
        return failure
    raw.execute("RELEASE one")
    return result


def _resolve(done: asyncio.Future[Any], outcome: Any) -> None:
    if done.done():
        return
    if isinstance(outcome, BaseException):
        done.set_exception(outcome)
        done.exception()  # a cancelled caller never looks: not an "exception was never retrieved"
    else:
        done.set_result(outcome)

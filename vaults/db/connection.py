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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import aiosqlite

from vaults.db.engine import sqlite
from vaults.db.failures import translated
from vaults.db.sql import Reader, Writer
from vaults.errors import VaultUnavailable
from vaults.observe import NullObserver, Observer
from vaults.settings import StorageSettings

T = TypeVar("T")

GROUP_LIMIT = 64
"""Transactions per commit at most: bounds how long the first of a group waits for the last."""


@dataclass(slots=True)
class _Pending(Generic[T]):
    work: Callable[[Writer], T]
    done: asyncio.Future[T]


class Database:
    """An open database. ``close`` is idempotent: it refuses new work, drains, then closes for ever."""

    def __init__(self, path: Path, settings: StorageSettings, observer: Observer | None = None) -> None:
        self.path = path
        self._settings = settings
        self._observer = observer or NullObserver()
        self._writer: aiosqlite.Connection | None = None
        self._free_readers: list[aiosqlite.Connection] = []
        self._reader_slots = asyncio.Semaphore(settings.readers)
        self._pending: deque[_Pending[Any]] = deque()
        self._drain: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run ``work`` in one read snapshot: one thread hop."""
        self._refuse_if_closed()
        async with self._reader_slots:
            connection = self._free_readers.pop() if self._free_readers else await self._connect(writer=False)
            try:
                return await _on_thread(connection, _snapshot, connection, work)
            finally:
                self._free_readers.append(connection)

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Run ``work`` in a transaction and return once it is durable.

        A caller that is cancelled after its work began does not stop it: the write is whole or absent.
        """
        self._refuse_if_closed()
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._pending.append(_Pending(work, done))
        if self._drain is None or self._drain.done():
            self._drain = asyncio.create_task(self._drain_pending())
        return await asyncio.shield(done)

    async def checkpoint(self) -> None:
        """Move the WAL into the database file and empty it (after a purge, before a copy)."""
        await self.exclusively(lambda raw: raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def exclusively(self, work: Callable[[sqlite.Connection], T]) -> T:
        """Run ``work`` on the writer connection outside of a transaction (pragmas, backup, VACUUM)."""
        self._refuse_if_closed()
        writer = await self._open_writer()
        return await _on_thread(writer, _raw, writer, work)

    async def rest(self) -> None:
        """Close every connection nothing is using; the next call opens what it needs (under a millisecond). Only
        for a moment when nobody holds the vault."""
        idle, self._free_readers = self._free_readers, []
        if (self._drain is None or self._drain.done()) and self._writer is not None:
            idle, self._writer = [*idle, self._writer], None
        for connection in idle:
            await _close(connection)

    async def close(self) -> None:
        """Finish what was accepted, then close every connection and its thread."""
        self._closed = True
        if self._drain is not None:
            await self._drain
        for _ in range(self._settings.readers):
            await self._reader_slots.acquire()  # waits for reads under way
        for connection in (*self._free_readers, *([self._writer] if self._writer else [])):
            await _close(connection)
        self._free_readers, self._writer = [], None
        for _ in range(self._settings.readers):
            self._reader_slots.release()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise VaultUnavailable("the vault was closed while the call waited", hint="call again")

    async def _drain_pending(self) -> None:
        while self._pending:
            group: list[_Pending[Any]] = []
            while self._pending and len(group) < GROUP_LIMIT:
                pending = self._pending.popleft()
                if not pending.done.cancelled():
                    group.append(pending)
            started = time.perf_counter()
            try:
                writer = await self._open_writer()
                outcomes = await _on_thread(writer, _commit_group, writer, [p.work for p in group])
            except Exception as failure:  # noqa: BLE001  every waiter of the group gets the failure
                outcomes = [failure] * len(group)
                await self._discard_writer()
            self._observer.committed(len(group), time.perf_counter() - started)
            for pending, outcome in zip(group, outcomes, strict=True):
                _settle(pending.done, outcome)

    async def _discard_writer(self) -> None:
        # After a failed fsync the kernel may have dropped the pages: the next write starts on a new connection
        # that reads what is really there; the failed commit is never tried again.
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(sqlite.Error):
                await _close(writer)

    async def _open_writer(self) -> aiosqlite.Connection:
        async with self._opening:
            if self._writer is None:
                self._writer = await self._connect(writer=True)
            return self._writer

    async def _connect(self, *, writer: bool) -> aiosqlite.Connection:
        connection = aiosqlite.Connection(
            lambda: open_raw(self.path, self._settings, writer=writer), iter_chunk_size=64
        )
        connection._thread.name = f"sqlite-{'w' if writer else 'r'}"
        with translated():
            return await connection


def open_raw(path: Path, settings: StorageSettings, *, writer: bool) -> sqlite.Connection:
    """A driver connection with every pragma set. Blocking; used by the async side, migrations and checks."""
    raw = sqlite.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    try:
        raw.execute(f"PRAGMA busy_timeout={settings.busy_timeout_ms}")
        raw.execute("PRAGMA foreign_keys=ON")
        if writer:
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute(f"PRAGMA synchronous={settings.synchronous.upper()}")
            raw.execute("PRAGMA secure_delete=ON")
            raw.execute("PRAGMA cache_size=-2000")
        else:
            raw.execute("PRAGMA query_only=ON")
            raw.execute("PRAGMA cache_size=-1000")
    except BaseException:
        raw.close()
        raise
    return raw


async def _on_thread(connection: aiosqlite.Connection, fn: Callable[..., T], *args: Any) -> T:
    # One function per transaction costs one thread hop; aiosqlite's public calls cost one per statement.
    with translated():
        result: T = await connection._execute(fn, *args)  # type: ignore[no-untyped-call]
        return result


async def _close(connection: aiosqlite.Connection) -> None:
    await connection.close()
    connection._thread.join()  # it has nothing left to do: microseconds, and no thread outlives its vault


def _raw(connection: aiosqlite.Connection, work: Callable[[sqlite.Connection], T]) -> T:
    return work(connection._conn)


def _snapshot(connection: aiosqlite.Connection, work: Callable[[Reader], T]) -> T:
    raw = connection._conn
    raw.execute("BEGIN")
    try:
        return work(Reader(raw))
    finally:
        raw.execute("ROLLBACK")


def _commit_group(connection: aiosqlite.Connection, works: list[Callable[[Writer], Any]]) -> list[Any]:
    """Run each work in its savepoint, commit once. Returns a result or an exception for each, in order."""
    raw = connection._conn
    outcomes: list[Any] = []
    raw.execute("BEGIN IMMEDIATE")
    try:
        for work in works:
            outcomes.append(_in_savepoint(raw, work))
        raw.execute("COMMIT")
    except BaseException:
        # After some errors (disk full) SQLite has already rolled back; a second ROLLBACK would hide the cause.
        with contextlib.suppress(sqlite.Error):
            raw.execute("ROLLBACK")
        raise
    return outcomes


def _in_savepoint(raw: sqlite.Connection, work: Callable[[Writer], Any]) -> Any:
    raw.execute("SAVEPOINT one")
    try:
        with translated():
            result = work(Writer(raw))
    except Exception as failure:
        if not raw.in_transaction:
            raise
        raw.execute("ROLLBACK TO one")
        raw.execute("RELEASE one")
        return failure
    raw.execute("RELEASE one")
    return result


def _settle(done: asyncio.Future[Any], outcome: Any) -> None:
    if done.done():
        return
    if isinstance(outcome, BaseException):
        done.set_exception(outcome)
        done.exception()  # a cancelled caller never looks: not an "exception was never retrieved"
    else:
        done.set_result(outcome)

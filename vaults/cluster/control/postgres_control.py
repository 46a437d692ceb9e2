"""The tables of control.db in PostgreSQL: ``Transactions`` that several servers share.

What was written for SQLite relies on its single writer: a function reads, decides and writes, and nobody else writes
meanwhile. So writers come one after the other here, too: each takes one lock before its first statement, and reads
from then on what was committed before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import psycopg

from vaults.change_notes import ChangeNote, ChangeNotes
from vaults.cluster.control.statement_runner import StatementRunner
from vaults.cluster.postgres.connections import Connection, Connections
from vaults.context import changes_of_call, run_in
from vaults.db.sql import Reader, Writer
from vaults.errors import VaultUnavailable

T = TypeVar("T")

THREADS = 4
"""Transactions of one server at once. A writer that waits for its turn keeps one, so that readers are left some."""

_LOCK = 0x434F4E54524F4C  # one for the whole database

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({_LOCK})"
_VERSION = "SELECT number FROM strongroom_control.control_version"
_COUNT = "UPDATE strongroom_control.control_version SET number = number + 1"


class PostgresControl:
    """Fulfils ``Transactions``. Everything raises ``LogUnavailable``, and then whether a write was made is unknown;
    ``ReadOnly`` and ``StorageFull`` where none was."""

    is_shared = True

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._readers = ThreadPoolExecutor(THREADS, thread_name_prefix="control-r")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="control-w")
        self._closed = False

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run ``work`` in one read snapshot."""
        return await self._on_thread(self._readers, partial(_read, self._connections, work))

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Run ``work`` in a transaction, with no other writer on any server, and return once it is durable.

        A caller that is cancelled after its work began does not stop it: the write is whole or absent.
        """
        return await self._write(work, counted=True)

    async def write_uncounted(self, work: Callable[[Writer], T]) -> T:
        """``write`` for bookkeeping: ``version`` stays."""
        return await self._write(work, counted=False)

    async def version(self) -> tuple[int, int]:
        """A mark that changes with each counted write on any server: one statement."""
        return 0, await self._on_thread(self._readers, partial(_version, self._connections))

    async def close(self) -> None:
        """Finish what was accepted. The connections are the owner's to close."""
        self._closed = True
        for threads in (self._writer, self._readers):
            await asyncio.to_thread(threads.shutdown)

    async def _write(self, work: Callable[[Writer], T], *, counted: bool) -> T:
        changes: list[ChangeNote] = []
        notes = changes_of_call()
        done = asyncio.ensure_future(
            self._on_thread(self._writer, partial(_write, self._connections, work, changes, counted=counted))
        )
        if notes is not None:
            notes.expect(done)
        done.add_done_callback(partial(_tell_audit, notes, changes))
        return await asyncio.shield(done)

    async def _on_thread(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise VaultUnavailable("control was closed while the call waited", hint="call again")
        return await run_in(threads, work)


def _tell_audit(notes: ChangeNotes | None, changes: list[ChangeNote], done: asyncio.Future[T]) -> None:
    if done.cancelled() or done.exception() is not None:  # looked at: a cancelled caller never does
        return
    if notes is not None:
        notes.add(changes)


def _read(connections: Connections, work: Callable[[Reader], T]) -> T:
    with connections.use() as connection:
        connection.execute(_READ, prepare=False)
        try:
            return work(Reader(StatementRunner(connection).as_sqlite()))
        finally:
            _roll_back(connection)


def _write(connections: Connections, work: Callable[[Writer], T], changes: list[ChangeNote], *, counted: bool) -> T:
    with connections.use() as connection:
        try:
            connection.execute(_WRITE, prepare=False)
            runner = StatementRunner(connection)
            result = work(Writer(runner.as_sqlite(), changes))
            if counted and runner.changed:
                connection.execute(_COUNT)
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        return result


def _version(connections: Connections) -> int:
    with connections.use() as connection:
        row = connection.execute(_VERSION).fetchone()
    if row is None:
        raise VaultUnavailable("the cluster's database lacks the row that counts changes")
    return int(row[0])


def _roll_back(connection: Connection) -> None:
    """Where that fails, the connection did: ``use`` ends it, and PostgreSQL the transaction."""
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()

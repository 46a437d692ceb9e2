"""The log of one vault: told of commits by its database, and the task that stores them every second.

::

    hold SQLite's log → find the end in the store → read every page: is the end this state, or one before it?
        yes: go on with what was committed since
        no:  a new line, which begins with a base
    then, each second: record, store; let SQLite's log start over; a new base when the line has grown long

Whatever fails leaves the vault as it is. While the store is away, SQLite's log grows to ``MAX_BACKLOG_BYTES``; then it
is let go, and a new line begins once the store is back.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.change_log.follower import Follower
from ops.change_log.shipper import LogFigures, Shipper
from ops.change_log.store import LogStore, plain
from vaults.context import run_in, run_to_completion
from vaults.db.connection import CommitMark, Database
from vaults.db.engine import sqlite
from vaults.db.wal_tail import WalGap
from vaults.errors import Overloaded, StrongroomError
from vaults.settings import StorageSettings

EVERY_S = 1.0
"""Seconds between two looks at what was committed."""

GROUPS_AT_ONCE = 64
"""Group commits after which the log looks before its time: under load SQLite's log would grow long within a second."""

MAX_QUIET = 10
"""Looks in a row that find nothing by the file's time alone."""

RETRY_S, MAX_RETRY_S = 2.0, 60.0
"""Seconds until the log is begun again after it could not go on."""

MAX_BACKLOG_BYTES = 64 * 1024 * 1024
"""Bytes SQLite's log may grow by while the store is away."""

MIN_LINE_BYTES = 32 * 1024 * 1024
"""Stored bytes since the last base, if that was not larger, after which the next is due."""

MAX_LINE_SEGMENTS = 20_000
"""Segments since the last base after which the next is due."""

MAX_LAST_BASE_BYTES = 16 * 1024 * 1024
"""Bytes of a database up to which the first base is still made while its vault is being closed."""

PRUNE_S = 3600.0
"""Seconds between two deletions of what is too old."""


def nobody_looks() -> None:
    """The default."""


@dataclass(frozen=True, slots=True)
class LogShelf:
    """What the logs of a process share. ``open_store`` may fail, and is asked again. ``keep_s``: how far back every
    moment stays restorable."""

    open_store: Callable[[], LogStore]
    pool: Executor
    storage: StorageSettings
    keep_s: int
    seal: Callable[[bytes], bytes] = plain
    every_s: float = EVERY_S
    on_look: Callable[[], None] = nobody_looks
    """Called after each look of any log."""


class ChangeLog:
    """Implements ``CommitLog``. ``follow`` does the work, in the process that holds the vault's lease."""

    def __init__(self, path: Path, vault_id: str, shelf: LogShelf) -> None:
        self._path = path
        self._vault_id = vault_id
        self._shelf = shelf
        self.figures = LogFigures()
        self.is_wanted = False
        """Whether this process is to keep the log: it holds the vault's lease."""
        self._follower: Follower | None = None
        self._shipper: Shipper | None = None
        self._line = ""
        self._is_told = False
        self._unseen = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._base: Iterator[None] | None = None
        self._pruned = time.monotonic() - PRUNE_S
        self.wake = asyncio.Event()
        """Set: look now."""

    @property
    def is_following(self) -> bool:
        """Whether commits are recorded now."""
        return bool(self._line)

    def after_commit(self) -> None:
        self._is_told = True
        if (follower := self._follower) is not None:
            follower.note_commit()
            self._unseen += 1
            if self._unseen >= GROUPS_AT_ONCE and self._loop is not None:
                self._unseen = 0
                self._loop.call_soon_threadsafe(self.wake.set)

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        if (follower := self._follower) is not None:
            try:
                follower.renew(raw)
            except Overloaded:
                follower.let_go()  # what is to be erased must not be kept for the log's sake

    async def follow(self, db: Database) -> None:
        """Log every commit until cancelled; ``close`` then stores the rest."""
        self.is_wanted, self.figures.covered_at = True, time.monotonic()
        self._loop = asyncio.get_running_loop()
        try:
            await self._follow(db)
        finally:
            self.is_wanted = False

    async def _follow(self, db: Database) -> None:
        pause, is_new = RETRY_S, False
        while True:
            began = time.monotonic()
            try:
                await run_to_completion(self._begin(db, is_new=is_new))
                is_new = False
                await self._go_on(db)
            except WalGap:
                self.figures.gaps += 1
                is_new = True  # what could not be recorded may still be in SQLite's log, after the end in the store
            except (StrongroomError, OSError) as failure:
                self.figures.failure = _code_of(failure)
            except Exception:  # a bug: the vault begins this anew, and must find nothing held
                await run_to_completion(self._drop())
                raise
            await run_to_completion(self._drop())
            self._shelf.on_look()
            await asyncio.sleep(pause)
            pause = RETRY_S if time.monotonic() - began > MAX_RETRY_S else min(2 * pause, MAX_RETRY_S)

    async def _begin(self, db: Database, *, is_new: bool) -> None:
        shelf = self._shelf
        follower = await self._on_thread(Follower, self._path, shelf.storage, shelf.seal)

        def hold(raw: sqlite.Connection) -> None:
            try:
                follower.hold(raw)
            except BaseException:
                follower.let_go()
                raise
            self._follower = follower

        await db.run_on_writer(hold)
        shipper = Shipper(self._vault_id, await self._on_thread(shelf.open_store), shelf.seal, self.figures)
        self._shipper = shipper
        found, stored = await self._on_thread(shipper.read_end)
        end = None if stored is None or is_new else stored.end
        if await self._on_thread(follower.begin, end) and stored is not None:
            shipper.go_on(stored)
            self._line = stored.end.line
        else:
            end = await self._on_thread(shipper.begin_line, found, stored)
            self._line = follower.start_line(end).line

    async def _go_on(self, db: Database) -> None:
        seen: CommitMark | None = None
        quiet = 0
        while True:
            mark = db.mark()
            is_told, self._is_told = self._is_told, False
            # Two commits of others within a tick of the file system's clock leave one mark: now and then look anyway.
            if is_told or mark != seen or quiet >= MAX_QUIET:
                seen = mark
                quiet = 0 if await self._store_recorded() else MAX_QUIET
            else:
                quiet += 1
                self.figures.covered_at = time.monotonic()
            await self._keep_short(db)
            await self._store_base()
            await self._prune()
            self._shelf.on_look()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), self._shelf.every_s)
            self.wake.clear()

    async def _store_recorded(self) -> bool:
        """Whether all that was committed is stored now. Raises once too much waits."""
        shipper, follower = self._parts()
        try:
            await self._on_thread(shipper.store_recorded, follower)
        except (StrongroomError, OSError) as failure:
            self.figures.failure = _code_of(failure)
            if await self._on_thread(follower.waiting_bytes) > MAX_BACKLOG_BYTES:
                raise
            return False
        return True

    async def _keep_short(self, db: Database) -> None:
        _, follower = self._parts()
        if follower.wants_renewal and self._base is None:
            await self._on_thread(follower.advance)
            with contextlib.suppress(Overloaded):  # another process writes: soon again
                await run_to_completion(db.run_on_writer(follower.renew))
                self.wake.set()  # what was recorded in there is in memory only

    async def _store_base(self) -> None:
        """Go on with a base that was begun, for about a second; begin one where it is due."""
        shipper, follower = self._parts()
        if self._base is None:
            grown = shipper.base_bytes is None or shipper.bytes_since_base > max(MIN_LINE_BYTES, shipper.base_bytes)
            if not grown and shipper.segments_since_base < MAX_LINE_SEGMENTS:
                return
            source, position = await self._on_thread(follower.freeze)
            self._base = shipper.store_base(source, self._line, position)
        if follower.log_bytes > max(MAX_BACKLOG_BYTES, follower.database_bytes):
            self._base = None  # writers are faster than the store; again once SQLite's log was let start over
            return
        until = time.monotonic() + self._shelf.every_s
        while time.monotonic() < until:
            if await self._on_thread(next, self._base, _END) is _END:
                self._base = None
                return
        self.wake.set()

    async def _prune(self) -> None:
        if time.monotonic() - self._pruned < PRUNE_S or self._base is not None:
            return
        self._pruned = time.monotonic()
        before = time.time_ns() // 1_000_000 - self._shelf.keep_s * 1000
        await self._on_thread(self._parts()[0].delete_expired, before)

    async def close(self) -> None:
        if self._follower is None:
            return
        try:
            if self._shipper is not None and self._line:
                await self._on_thread(self._shipper.store_recorded, self._follower)
                await self._on_thread(self._finish_base)
        except (WalGap, StrongroomError, OSError) as failure:
            self.figures.failure = _code_of(failure)  # the next line begins with a base that holds it
        finally:
            await run_to_completion(self._drop())

    def _finish_base(self) -> None:
        """Without a base nothing of a line can be restored. A large one waits until the vault is next open."""
        shipper, follower = self._parts()
        if shipper.base_bytes is None and follower.database_bytes <= MAX_LAST_BASE_BYTES and not follower.is_lost:
            source, position = follower.freeze()
            for _ in shipper.store_base(source, self._line, position):
                continue

    async def _drop(self) -> None:
        follower, self._follower = self._follower, None
        shipper, self._shipper = self._shipper, None
        self._line, self._base = "", None
        for each in (follower.let_go if follower else None, shipper.close if shipper else None):
            if each is not None:
                await self._on_thread(each)

    async def _on_thread(self, fn: Callable[..., Any], *args: Any) -> Any:
        # To its end, also when the vault is closed meanwhile: nothing may go on behind the back of ``close``.
        return await run_to_completion(run_in(self._shelf.pool, fn, *args))

    def _parts(self) -> tuple[Shipper, Follower]:
        assert self._shipper is not None, "_begin comes first"
        assert self._follower is not None, "_begin comes first"
        return self._shipper, self._follower


_END = object()


def _code_of(failure: BaseException) -> str:
    return failure.code if isinstance(failure, StrongroomError) else "gap" if isinstance(failure, WalGap) else "io"

"""The log of one vault: told of commits by its database, and the task that stores them every second.

::

    find the end in the store → hold SQLite's log → read every page: is the end this state, or one before it?
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
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from ops.change_log.failures import LogTaken
from ops.change_log.follower import Follower
from ops.change_log.log_shelf import LogShelf
from ops.change_log.shipper import LogFigures, Shipper
from ops.change_log.upkeep import Upkeep
from vaults.context import run_in, run_to_completion
from vaults.db.connection import CommitMark, Database
from vaults.db.engine import sqlite
from vaults.db.wal_tail import WalGap
from vaults.errors import Overloaded, StrongroomError

log = structlog.get_logger("ops.change_log")

GROUPS_AT_ONCE = 64
"""Group commits after which the log looks before its time: under load SQLite's log would grow long within a second."""

MAX_QUIET = 10
"""Looks in a row that find nothing by the file's time alone."""

RETRY_S, MAX_RETRY_S = 2.0, 60.0
"""Seconds until the log is begun again after it could not go on."""

MAX_BACKLOG_BYTES = 64 * 1024 * 1024
"""Bytes SQLite's log may grow by while the store is away."""

MAX_LAST_BASE_BYTES = 16 * 1024 * 1024
"""Bytes of a database up to which the first base is still made while its vault is being closed."""

RENEW_FOR_S, RENEW_PAUSE_S = 1.0, 0.02
"""Seconds for which SQLite's log is asked to be empty before a purge, where somebody reads from it."""

FAILED = (StrongroomError, OSError)
"""What a store or a disk may raise."""


class ChangeLog:
    """Implements ``CommitLog``. ``follow`` does the work, in the process that holds the vault's lease."""

    has_begun = True
    """It reads beside everybody else."""

    def __init__(self, path: Path, vault_id: str, shelf: LogShelf) -> None:
        self._path = path
        self._vault_id = vault_id
        self._shelf = shelf
        self.figures = LogFigures()
        self.is_wanted = False
        """Whether this process is to keep the log: it holds the vault's lease."""
        self._follower: Follower | None = None
        self._shipper: Shipper | None = None
        self._upkeep: Upkeep | None = None
        self._is_told = False
        self._changes: tuple[int, int] | None = None
        """Which connection committed last, and how many rows it had changed until then."""
        self._unseen = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ending = False
        self.wake = asyncio.Event()
        """Set: look now."""

    @property
    def is_following(self) -> bool:
        """Whether commits are recorded now."""
        return self._upkeep is not None

    def after_open(self, raw: sqlite.Connection) -> None:
        """Nothing: whoever follows reads what is there first."""

    def before_commit(self) -> None:
        """Nothing: it follows, and keeps nobody waiting."""

    def after_failed_commit(self, raw: sqlite.Connection) -> None:
        """Nothing: what was committed nevertheless is found with the next commit."""

    def before_answer(self) -> None:
        """Nothing."""

    def refuse_if_lost(self) -> None:
        """Nothing."""

    def after_commit(self, raw: sqlite.Connection) -> None:
        changes, self._changes = self._changes, (id(raw), raw.total_changes)
        if changes == self._changes:
            return  # nothing was changed: there is no commit that could bear this moment
        self._is_told = True
        if (follower := self._follower) is not None:
            follower.note_commit()
            self._unseen += 1
            if self._unseen >= GROUPS_AT_ONCE and self._loop is not None:
                self._unseen = 0
                self._loop.call_soon_threadsafe(self.wake.set)

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        if (follower := self._follower) is None:
            return
        try:
            until = time.monotonic() + RENEW_FOR_S
            follower.renew(raw)
            while not follower.may_restart and time.monotonic() < until:  # somebody reads from it
                pause()
                follower.renew(raw)
        except Overloaded:
            follower.let_go()  # what is to be erased must not be kept for the log's sake

    async def follow(self, db: Database) -> None:
        """Log every commit until cancelled; ``close`` then stores the rest."""
        self.is_wanted, self.figures.covered_at = True, time.monotonic()
        self._is_ending = False
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
                await self._to_its_end(self._begin(db, is_new=is_new))
                is_new = False
                await self._go_on(db)
            except WalGap:
                self._note_gap("commits could not be recorded")
                is_new = True  # what could not be recorded may still be in SQLite's log, after the end in the store
            except LogTaken as taken:
                await self._stand_aside(taken)
            except FAILED as failure:
                self._note_failure(failure)
            except Exception:  # a bug: the vault begins this anew, and must find nothing held
                await run_to_completion(self._drop())
                raise
            await run_to_completion(self._drop())
            await asyncio.sleep(pause)
            pause = RETRY_S if time.monotonic() - began > MAX_RETRY_S else min(2 * pause, MAX_RETRY_S)

    async def _stand_aside(self, taken: LogTaken) -> None:
        """Write nothing more while the vault is open: of two that write one log nobody could tell whose commits it
        holds. It counts as behind, so an alert fires."""
        self._note_failure(taken)
        log.error("change_log_taken", vault_id=self._vault_id, reason=taken.message, hint=taken.hint)
        await run_to_completion(self._drop())
        await asyncio.get_running_loop().create_future()  # until cancelled

    async def _begin(self, db: Database, *, is_new: bool) -> None:
        # The store first: while it does not answer, SQLite's log is not held for it.
        store = await self._at_store(self._shelf.open_store)
        self._shipper = shipper = Shipper(self._vault_id, store, self._shelf.seal, self.figures)
        found, stored = await self._at_store(shipper.read_end)
        follower = await self._hold(db)
        end = None if stored is None or is_new else stored.end
        if await self._on_thread(follower.begin, end) and stored is not None:
            shipper.go_on(stored)
            line = stored.end.line
        else:
            if end is not None:
                self._note_gap("the database is not what the log ends with")
            end = await self._at_store(partial(shipper.begin_line, found))
            line = follower.start_line(end).line
        self._upkeep = Upkeep(self._shelf, shipper, follower, line)

    async def _hold(self, db: Database) -> Follower:
        follower: Follower = await self._on_thread(Follower, self._path, self._shelf.storage, self._shelf.seal)
        try:
            await db.run_on_writer(follower.hold)
        except BaseException:
            await self._on_thread(follower.let_go)
            raise
        self._follower = follower
        return follower

    async def _go_on(self, db: Database) -> None:
        seen: CommitMark | None = None
        quiet, settled = 0, 0.0
        while True:
            mark = db.mark()
            if is_told := self._is_told:
                self._is_told = False
            # Two commits of others within a tick of the file system's clock leave one mark: now and then look anyway.
            if is_told or mark != seen:
                settled = time.monotonic() + 2 * self._shelf.storage.busy_timeout_ms / 1000
            if is_told or mark != seen or quiet >= MAX_QUIET:
                seen = mark
                quiet = 0 if await self._store_recorded() else MAX_QUIET
            else:
                quiet += 1
                self._parts()[0].note_covered(time.monotonic())
            if not self._parts()[2].is_storing_base:
                await self._keep_short(db)
                if time.monotonic() < settled:  # another process that purges may be waiting for an empty log
                    await self._on_thread(self._parts()[1].refresh)
            await self._keep_up()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._shelf.every_s):  # wait_for may swallow that this task is cancelled
                    await self.wake.wait()
            self.wake.clear()

    async def _store_recorded(self) -> bool:
        """Whether all that was committed is stored now. Raises once too much waits."""
        shipper, follower, _ = self._parts()
        try:
            await self._at_store(partial(shipper.store_recorded, follower))
        except LogTaken:
            raise
        except FAILED as failure:
            self._note_failure(failure)
            if await self._on_thread(follower.waiting_bytes) > MAX_BACKLOG_BYTES:
                raise
            return False
        self._note_success()
        return True

    async def _keep_short(self, db: Database) -> None:
        """Let SQLite's log start over where it is long."""
        _, follower, _ = self._parts()
        if follower.wants_renewal and not await self._on_thread(follower.advance):
            with contextlib.suppress(Overloaded):  # another process writes: soon again
                await run_to_completion(db.run_on_writer(follower.renew))
                self.wake.set()  # what was recorded in there is in memory only

    async def _keep_up(self) -> None:
        _, _, upkeep = self._parts()
        try:
            if await upkeep.store_base(self._at_store):
                self.wake.set()
            await upkeep.prune(self._at_store)
        except LogTaken:
            raise
        except FAILED as failure:
            self._note_failure(failure)
            upkeep.give_base_up()

    async def close(self) -> None:
        if self._follower is None:
            return
        self._is_ending = False
        try:
            if self._upkeep is not None and not self._shelf.stores.is_away:
                await self._at_store(partial(self._parts()[0].store_recorded, self._follower))
                await self._at_store(self._finish_base)
        except (WalGap, *FAILED) as failure:
            self._note_failure(failure)  # the next line begins with a base that holds it
        finally:
            await run_to_completion(self._drop())

    def _finish_base(self) -> None:
        """Without a base nothing of a line can be restored. A large one waits until the vault is next open."""
        shipper, follower, upkeep = self._parts()
        if shipper.base_bytes is None and follower.database_bytes <= MAX_LAST_BASE_BYTES and not follower.is_lost:
            upkeep.store_whole_base()

    async def _drop(self) -> None:
        follower, self._follower = self._follower, None
        shipper, self._shipper = self._shipper, None
        self._upkeep = None
        for each in (follower.let_go if follower else None, shipper.close if shipper else None):
            if each is not None:
                await self._on_thread(each)

    async def _on_thread(self, fn: Callable[..., Any], *args: Any) -> Any:
        # To its end, also when the vault is closed meanwhile: nothing may go on behind the back of ``close``.
        return await run_to_completion(run_in(self._shelf.pool, fn, *args))

    async def _at_store(self, work: Callable[[], Any]) -> Any:
        """``work`` on a thread for the store, to its end; what has not begun when the vault is closed does not."""
        return await self._to_its_end(self._watched(work))

    async def _to_its_end(self, work: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.create_task(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._is_ending = True
            raise
        finally:
            while not task.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({task})

    async def _watched(self, work: Callable[[], Any]) -> Any:
        """``work``, while SQLite's log does not grow without bound for its sake."""
        task = asyncio.ensure_future(self._shelf.stores.run(work, lambda: not self._is_ending))
        while not (await asyncio.wait({task}, timeout=self._shelf.every_s))[0]:
            follower = self._follower
            if follower is not None and await self._on_thread(follower.waiting_bytes) > MAX_BACKLOG_BYTES:
                await self._on_thread(follower.let_go)
        return task.result()

    def _parts(self) -> tuple[Shipper, Follower, Upkeep]:
        assert self._shipper is not None, "_begin comes first"
        assert self._follower is not None, "_begin comes first"
        assert self._upkeep is not None, "_begin comes first"
        return self._shipper, self._follower, self._upkeep

    def _note_failure(self, failure: BaseException) -> None:
        code = _code_of(failure)
        if code != self.figures.failure:
            self.figures.failure = code
            log.warning("change_log_failing", vault_id=self._vault_id, code=code)

    def _note_success(self) -> None:
        if self.figures.failure is not None:
            self.figures.failure = None
            log.info("change_log_goes_on", vault_id=self._vault_id)

    def _note_gap(self, reason: str) -> None:
        self.figures.gaps += 1
        log.warning("change_log_began_anew", vault_id=self._vault_id, reason=reason)


def pause() -> None:
    """Let others end their reading. On the writer's thread."""
    time.sleep(RENEW_PAUSE_S)


def _code_of(failure: BaseException) -> str:
    return failure.code if isinstance(failure, StrongroomError) else "gap" if isinstance(failure, WalGap) else "io"

"""The tasks of an open vault: when they start, who may run them, how they end. What they do is the vault's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from vaults.background_defects import BackgroundDefects, TaskName
from vaults.context import begin_apart
from vaults.db.lease import Lease
from vaults.errors import StrongroomError

BoundTask: TypeAlias = Callable[[], Coroutine[Any, Any, object]]
"""Work on one vault, which it knows already."""

SOON_S = 0.05
"""Seconds from a write to the look for what it made due: longer than its answer takes from there."""


def has_no_more_to_do() -> bool:
    """The default: what returned is not begun again."""
    return False


@dataclass(frozen=True, slots=True)
class LastingTask:
    """Work that lasts as long as the vault is open. It may return for want of anything to do; ``is_wanted``, which may
    not wait, then says whether it is to begin again."""

    name: TaskName
    run: BoundTask
    is_wanted: Callable[[], bool] = has_no_more_to_do


async def go_ahead() -> None:
    """The default: nothing is put off."""


class BackgroundWork:
    """``run_due`` does all that is due and ends; those of ``run_while_open`` last, each in a task of its own. They run
    only in the process that holds the lease; the follow-up of a call runs in any. Nothing begins once ``stop`` was
    called: a call, or a round of the pool, may still have the vault in hand, and would take the lease again for one
    that is closed. ``wait_for_calm`` is awaited before each begins, and puts it off for a while."""

    def __init__(
        self,
        lease: Lease,
        run_due: BoundTask,
        defects: BackgroundDefects,
        run_while_open: Sequence[LastingTask] = (),
        wait_for_calm: BoundTask = go_ahead,
    ) -> None:
        self._lease = lease
        self._run_due = run_due
        self.defects = defects
        self._run_while_open = tuple(run_while_open)
        self._wait_for_calm = wait_for_calm
        self._is_due = False
        self._is_stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.TimerHandle | None = None
        self.due_work: asyncio.Task[None] | None = None
        self.lasting_tasks: dict[int, asyncio.Task[object]] = {}
        self.follow_up: asyncio.Task[object] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether due work is under way, or about to begin."""
        return self._soon is not None or _is_running(self.due_work)

    @property
    def has_lasting_task(self) -> bool:
        """Whether a task that lasts as long as the vault is open runs here."""
        return any(map(_is_running, self.lasting_tasks.values()))

    def is_ours(self) -> bool:
        """Whether this process has or gets the lease, for a vault that is not closed."""
        return not self._is_stopped and self._lease.try_acquire()

    def start(self) -> None:
        """Do what is due, if this process has or gets the lease."""
        self._forget_soon()
        self._is_due = True
        if not _is_running(self.due_work) and self.is_ours():
            self.due_work = begin_apart(self._run_until_done(), "vault-due-work")

    def start_soon(self) -> None:
        """``start`` once the call that asks for it was answered: looking for what is due takes as long as a small
        write. Calls meanwhile share one start, and whoever waits for the work does not wait for that."""
        if self._soon is None and not self._is_stopped:
            self._soon = asyncio.get_running_loop().call_later(SOON_S, self.start)

    def _forget_soon(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def start_later(self, seconds: float) -> None:
        """Call ``start`` after ``seconds``; a later call replaces an earlier one."""
        if self._is_stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.start)

    def resume_lasting_tasks(self) -> None:
        """Run the lasting tasks, if this process has or gets the lease. One that returned is begun again if it is
        wanted; one that failed always."""
        for number, task in enumerate(self._run_while_open):
            known = self.lasting_tasks.get(number)
            idle = known is None or (known.done() and (_has_failed(known) or task.is_wanted()))
            if idle and self.is_ours():
                self.lasting_tasks[number] = begin_apart(self._run_lasting(task), "vault-lasting-task")

    def run_follow_up(self, work: BoundTask) -> None:
        """Finish something soon after a call; dropped while other such work runs."""
        if not self._is_stopped and not _is_running(self.follow_up):
            self.follow_up = begin_apart(self._run_follow_up(work), "vault-follow-up")

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the due work that is under way, or about to begin, has ended, or for ``seconds`` at most."""
        if self._soon is not None:
            self.start()
        if self.due_work is not None:
            await asyncio.wait({self.due_work}, timeout=seconds)

    async def stop(self) -> None:
        """Cancel everything, for good, and wait until it has ended."""
        self._is_stopped = True
        self._forget_soon()
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.sleep(0)  # let just-scheduled tasks start, so that cancellation reaches their handlers
        for task in (*self.lasting_tasks.values(), self.follow_up, self.due_work):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run_lasting(self, task: LastingTask) -> None:
        await self._wait_for_calm()
        with self.defects.noting(task.name):
            await task.run()

    async def _run_follow_up(self, work: BoundTask) -> None:
        with suppress(StrongroomError):  # the call was answered; what is left over falls due
            await self.defects.outlive("follow_up", work())

    async def _run_until_done(self) -> None:
        await self._wait_for_calm()
        try:
            while self._is_due:  # also work that fell due meanwhile
                self._is_due = False
                await self._run_due()
        except StrongroomError:
            # The model or the disk is down; both report themselves, and the pool's next round tries again.
            return


def _is_running(task: asyncio.Task[Any] | None) -> bool:
    return task is not None and not task.done()


def _has_failed(task: asyncio.Task[object]) -> bool:
    return task.cancelled() or task.exception() is not None

"""Backups that calls asked for: each goes on when its call has been answered, and ends with the process."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

from vaults.errors import StrongroomError

T = TypeVar("T")

log = structlog.get_logger("ops.backup")


class RequestedRuns:
    """Those under way in this process."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, vault: str, make: Callable[[], Coroutine[Any, Any, T]], wait_s: float) -> T | None:
        """Begin one, and return what it made; None where that takes longer than ``wait_s``: then it goes on by itself,
        also when the caller goes away. Raises what ``make`` raises within that time."""
        # In a context of its own: that of the call has a deadline and is gone before this is done.
        task = asyncio.create_task(make(), name="requested-backup", context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            done, _ = await asyncio.wait({task}, timeout=wait_s)
        except asyncio.CancelledError:
            _let_go(task, vault)
            raise
        if done:
            return task.result()
        _let_go(task, vault)
        return None

    async def close(self) -> None:
        """Stop what is under way; nothing of it is published."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _let_go(task: asyncio.Task[Any], vault: str) -> None:
    """Nobody waits for it any more: how it failed stands in the log, besides the list of backups."""

    def tell(ended: asyncio.Task[Any]) -> None:
        if ended.cancelled():
            return
        failure = ended.exception()
        if isinstance(failure, StrongroomError):
            log.warning("backup_failed", vault=vault, code=failure.code)
        elif failure is not None:
            log.error("backup_defect", vault=vault, exc_info=failure)

    task.add_done_callback(tell)

"""How late the event loop runs: a timer that knows when it should have fired."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


class LoopLag:
    """Measures the running loop's lag every ``interval`` seconds and hands it to ``record``, in seconds.

    Owned by whoever calls ``start``; ``stop`` cancels the task and waits for it.
    """

    def __init__(self, record: Callable[[float], None], interval: float) -> None:
        self._record = record
        self._interval = interval
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start on the loop to be measured. A second call while running does nothing."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._measure(), name="loop-lag")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _measure(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + self._interval
            await asyncio.sleep(self._interval)
            self._record(max(0.0, loop.time() - due))

"""A clock that stands still while the event loop does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

BEAT_S = 0.25
MOST_S = 2 * BEAT_S
"""Max seconds between two beats; any more was a stall."""


class AwakeClock:
    """Seconds for which the event loop was able to run. ``beat`` while it counts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._awake = 0.0
        self._beaten_at = clock()

    def __call__(self) -> float:
        return self._awake + min(self._clock() - self._beaten_at, MOST_S)

    def beat(self) -> None:
        """Note that the loop runs."""
        self._awake, self._beaten_at = self(), self._clock()

    async def keep(self) -> None:
        """Beat until cancelled."""
        while True:
            self.beat()
            await asyncio.sleep(BEAT_S)

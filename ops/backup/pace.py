"""How fast a backup may go, and when it is to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vaults.errors import Cancelled

STEP = 2 << 20
"""Bytes between two rests."""

REST_S = 0.0005
"""A rest: long enough that another thread which wants the processor or the disk gets it."""

LONGEST_S = 1.0
"""Between two looks whether to stop, however slow the pace."""


@dataclass(slots=True)
class Pace:
    """``bytes_per_s``: at most so many on average; None: no bound. ``stopped``: asked at every step;
    ``rest_s``: between two; 0 in a process of its own, which steps back altogether."""

    bytes_per_s: float | None = None
    stopped: Callable[[], bool] = lambda: False
    rest_s: float = REST_S
    _since: float = field(default_factory=time.monotonic)
    _spent: int = 0
    _rested_at: int = 0

    def check(self) -> None:
        """Raise ``Cancelled`` where it is to stop."""
        if self.stopped():
            raise Cancelled("the backup was stopped; nothing was published")

    def spend(self, count: int) -> None:
        """Call after reading or writing ``count`` bytes: waits as long as the pace asks. Raises ``Cancelled``."""
        self.check()
        self._spent += count
        if self._spent - self._rested_at < STEP:
            return
        self._rested_at = self._spent
        time.sleep(self.rest_s)
        while (ahead := self._ahead_s()) > 0:
            time.sleep(min(ahead, LONGEST_S))
            self.check()

    def _ahead_s(self) -> float:
        """Seconds until so much may have been read or written."""
        return self._spent / self.bytes_per_s - (time.monotonic() - self._since) if self.bytes_per_s else 0.0

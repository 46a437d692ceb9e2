"""Whether the machine's clock may be believed: what is deleted by a clock that jumped ahead is gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_JUMP_S = 600.0
"""Seconds by which the clock may be put right without anybody minding."""

PROBATION_S = 3600.0
"""Seconds for which the clock must have gone as time does, since it was put and since the process began."""


def elapsed() -> float:
    """Seconds that go on whatever the clock says, also while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(slots=True)
class SteadyClock:
    """Asked often, it sees the clock being put. One for a process."""

    wall: Callable[[], float] = time.time
    ticks: Callable[[], float] = elapsed
    _offset: float | None = None
    _since: float = field(default=0.0)

    def is_steady(self) -> bool:
        """Whether nobody has put the clock for a while."""
        ticks = self.ticks()
        offset = self.wall() - ticks
        if self._offset is None or abs(offset - self._offset) > MAX_JUMP_S:
            self._offset, self._since = offset, ticks
        return ticks - self._since >= PROBATION_S

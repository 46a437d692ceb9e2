"""Counters behind the rate limits: fixed windows on the monotonic clock.

The memory storage of ``limits`` wakes a timer thread for nearly every hit that comes alone (350 µs each, measured; this
one 1 µs) and counts by the wall clock, and importing the library was a thirtieth of a start. Only used on the event
loop's thread, so there are no locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from auth.shared_counts import CountsElsewhere

SWEEP_AT = 8192
"""Number of counters at which expired ones are swept out."""


class MonotonicWindows:
    """Fixed windows that begin with their first hit. Times are monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: dict[Hashable, list[float]] = {}  # key → [hits, end]
        self._sweep_at = SWEEP_AT

    def hit(self, key: Hashable, life_s: float) -> int:
        """Count one hit, in a window of ``life_s`` seconds if it is the first; returns the total of the window."""
        now = self._clock()
        window = self._windows.get(key)
        if window is None or window[1] <= now:
            if len(self._windows) >= self._sweep_at:
                self._sweep(now)
            window = self._windows[key] = [0, now + life_s]
        window[0] += 1
        return int(window[0])

    def hit_within(self, key: Hashable, life_s: float, limit: int, elsewhere: CountsElsewhere) -> bool:
        """Count one hit; whether it is within the limit together with those of other servers. One that is refused for
        theirs is not kept: else whoever goes on trying at all of them in turn would be refused for ever."""
        hits = self.hit(key, life_s)
        if hits > limit or hits + elsewhere.count(key, limit) <= limit:
            return hits <= limit
        self._windows[key][0] -= 1
        return False

    def count(self, key: Hashable) -> int:
        """Hits in the current window."""
        window = self._windows.get(key)
        return int(window[0]) if window is not None and window[1] > self._clock() else 0

    def end(self, key: Hashable) -> float:
        """When the current window ends, by the clock."""
        window = self._windows.get(key)
        return window[1] if window is not None else self._clock()

    def look(self, key: Hashable) -> tuple[int, float]:
        """Hits in the current window, and the seconds that are left of it."""
        return self.count(key), max(0.0, self.end(key) - self._clock())

    def clear(self, key: Hashable) -> None:
        """Forget one counter."""
        self._windows.pop(key, None)

    def __len__(self) -> int:
        """Counters that are held, of windows that ended too until they are swept out."""
        return len(self._windows)

    def _sweep(self, now: float) -> None:
        self._windows = {key: window for key, window in self._windows.items() if window[1] > now}
        # If all were live, sweeping again on the next hit would cost each hit the whole table.
        self._sweep_at = max(SWEEP_AT, 2 * len(self._windows))

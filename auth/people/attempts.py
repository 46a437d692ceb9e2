"""How often something may be tried: by account, by address, and in all. Counted in memory; where there are several
servers, each is told what the others counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from auth.one_time import digest_of
from auth.rate_windows import MonotonicWindows
from auth.shared_counts import UNSHARED, SharedCounts


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """``count`` attempts within ``seconds`` of the first."""

    name: str
    count: int
    seconds: float


ACCOUNT = AttemptLimit("account", 10, 900)
ADDRESS = AttemptLimit("address", 60, 900)
DEVICE_START = AttemptLimit("device start", 30, 900)
DEVICE_STARTS = AttemptLimit("device starts", 300, 900)
DEVICE_POLL = AttemptLimit("device poll", 1, 4)
DEVICE_CODE = AttemptLimit("device code", 20, 900)
DOCUMENT = AttemptLimit("document", 20, 3600)
DOCUMENTS = AttemptLimit("documents", 200, 3600)
LINK = AttemptLimit("link", 30, 900)
REGISTRATION = AttemptLimit("registration", 20, 3600)
REGISTRATIONS = AttemptLimit("registrations", 100, 3600)
"""What is plural counts all addresses together: a botnet has many."""


class Attempts:
    """Used on the event loop's thread only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, shared: SharedCounts = UNSHARED) -> None:
        self._clock = clock
        self._windows = MonotonicWindows(clock)
        self._elsewhere = shared.join("attempts", self._windows.look)

    def wait(self, limit: AttemptLimit, who: str) -> float:
        """Count one attempt of ``who``; returns the seconds to wait until the next, 0 where this one may go on. It
        counts before it is known to be wrong, so that many at once are no way round."""
        key = f"{limit.name}:{digest_of(who)}"
        if self._windows.hit_within(key, limit.seconds, limit.count, self._elsewhere):
            return 0
        return max(self._windows.end(key) - self._clock(), 1)

    def forgive(self, limit: AttemptLimit, who: str) -> None:
        """Forget what ``who`` tried: it was right."""
        key = f"{limit.name}:{digest_of(who)}"
        self._windows.clear(key)
        self._elsewhere.forget(key)

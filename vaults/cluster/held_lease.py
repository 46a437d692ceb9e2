"""How long this server may believe that the vaults it holds are its own, by a clock that nobody can put.

A heartbeat is heard after it was sent. Counted from the sending, the lease of this side is over before any other
server may call this one silent, so it can only be too short. A stopped process finds its lease over when it goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from vaults.cluster.failures import Fenced, LogUnavailable


def elapsed_s() -> float:
    """Seconds that go on whatever anybody puts the clock to, also while the machine sleeps: CLOCK_MONOTONIC stands
    still then on Linux, and a lease by it would outlast the sleep."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class HeldLease:
    """One for a server. Renewed by its heartbeat, asked by every read; any thread."""

    def __init__(self, lease_s: float, clock: Callable[[], float] = elapsed_s) -> None:
        self.lease_s = lease_s
        self.clock = clock
        self._guard = threading.Lock()
        self._until = float("-inf")
        self._lost = False

    def renew(self, sent_at: float) -> None:
        """A heartbeat that was sent at ``sent_at`` of ``clock`` was heard. Answers may come in any order."""
        with self._guard:
            self._until = max(self._until, sent_at + self.lease_s)

    def lose(self) -> None:
        """For ever: others were told that this server is gone. It can only come back as another one."""
        with self._guard:
            self._lost = True

    @property
    def is_lost(self) -> bool:
        with self._guard:
            return self._lost

    def left_s(self) -> float:
        """Seconds it goes on, 0 where it is over."""
        with self._guard:
            return 0.0 if self._lost else max(0.0, self._until - self.clock())

    def require_held(self) -> None:
        """Return where no other server can hold what this one holds. Call it after a read has its snapshot, since a
        process may be stopped for any time between two lines. Raises ``Fenced`` and ``LogUnavailable``."""
        if self.left_s() > 0:
            return
        if self.is_lost:
            raise Fenced("this server was taken for dead, and its vaults may be elsewhere")
        raise LogUnavailable("the cluster's database was not heard for as long as this server may answer without it")

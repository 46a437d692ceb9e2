"""Where the logs of a process wait for their store: on threads that nothing else waits for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from vaults.context import run_in
from vaults.errors import VaultUnavailable

T = TypeVar("T")


class StoreThreads:
    """A store that hangs takes a thread for as long as it hangs; whoever ends meanwhile does not queue up behind it."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self.is_away = False
        """Whether the store did not answer when it was last asked."""

    async def run(self, work: Callable[[], T], is_wanted: Callable[[], bool]) -> T:
        """What ``work`` returns. Raises ``VaultUnavailable`` if by the time a thread is free it is wanted no more."""
        return await run_in(self._pool, self._ask, work, is_wanted)

    def _ask(self, work: Callable[[], T], is_wanted: Callable[[], bool]) -> T:
        if not is_wanted():
            raise VaultUnavailable("the change log has ended", reason="target")
        try:
            done = work()
        except (VaultUnavailable, OSError):
            self.is_away = True
            raise
        self.is_away = False
        return done

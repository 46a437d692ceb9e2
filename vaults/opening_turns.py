"""Whose turn it is to be opened, where many vaults are asked for at once: after a start, or when a server was killed.

Opened all at once they would share the processors, and each be ready as late as the last one. So a few are opened at a
time, in the order in which they were asked for, and what open vaults do for themselves waits meanwhile. Calls to
vaults that are open wait for nothing here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

AT_ONCE = 4
"""Vaults opened at a time: more than there are processors, as each waits for its disk now and then."""

TURN_S = 0.5
"""Seconds after which one that is still not open keeps the next waiting no more: another server may have it, or it is
being migrated."""

PATIENCE_S = 2.0
"""Max seconds that work of open vaults is put off."""


class _HeldPlace:
    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free: asyncio.Semaphore | None = free

    def give_on(self) -> None:
        free, self._free = self._free, None
        if free is not None:
            free.release()


class OpeningTurns:
    """On the event loop."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)
        self._asked = 0
        self._calm = asyncio.Event()
        self._calm.set()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Begin the block when it is its turn: first come, first served."""
        self._asked += 1
        self._calm.clear()
        try:
            async with self._free_place():
                yield
        finally:
            self._asked -= 1
            if not self._asked:
                self._calm.set()

    @asynccontextmanager
    async def _free_place(self) -> AsyncIterator[None]:
        await self._free.acquire()
        held = _HeldPlace(self._free)
        late = asyncio.get_running_loop().call_later(TURN_S, held.give_on)
        try:
            yield
        finally:
            late.cancel()
            held.give_on()

    async def wait_for_calm(self) -> None:
        """Return once no vault is being opened, at the latest after ``PATIENCE_S``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._calm.wait()

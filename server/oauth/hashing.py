"""Password hashing off the event loop: a few at once, and no queue without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from vaults.errors import Overloaded

T = TypeVar("T")

AT_ONCE = 2
"""Each takes 19 MiB and a core."""

WAITING = 32
"""How many may wait for their turn: a second's worth."""


class HashingTurns:
    """Gives turns to work that hashes a password."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._inside = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Run it on a thread when its turn comes. Raises ``Overloaded`` where too many wait."""
        if self._inside >= AT_ONCE + WAITING:
            raise Overloaded("too many people sign in at the moment", retry_after_s=2)
        self._inside += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(work)
        finally:
            self._inside -= 1

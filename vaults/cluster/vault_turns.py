"""Whose turn it is with a vault: taking, handing over and removing it are done one after the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class VaultTurns:
    """On one event loop."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: Counter[str] = Counter()
        self._leaving: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, vault_id: str) -> AsyncIterator[None]:
        """Nobody else's for as long as the block lasts."""
        self._users[vault_id] += 1
        try:
            async with self._locks.setdefault(vault_id, asyncio.Lock()):
                yield
        finally:
            self._users[vault_id] -= 1
            if not self._users[vault_id]:
                del self._users[vault_id], self._locks[vault_id]

    @contextmanager
    def leaving(self, vault_id: str) -> Iterator[None]:
        """It is about to be given away for as long as the block lasts."""
        self._leaving[vault_id] += 1
        try:
            yield
        finally:
            self._leaving[vault_id] -= 1
            if not self._leaving[vault_id]:
                del self._leaving[vault_id]

    def is_leaving(self, vault_id: str) -> bool:
        """Whether it is about to be given away."""
        return vault_id in self._leaving

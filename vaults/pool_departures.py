"""Vaults that leave this process while others stay: handed over to another server, or lost to one."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from vaults.pool_slots import is_open, vacate
from vaults.vault_hosting import VaultUse

if TYPE_CHECKING:
    from vaults.db.connection import Database
    from vaults.pool import VaultPool


class PoolDepartures:
    """Of the vaults of one pool, by id."""

    def __init__(self, pool: VaultPool) -> None:
        self._pool = pool

    def idle_s(self, vault_id: str) -> float:
        """Seconds since a call last had it: 0 while one has it, or it is being opened, or does work of its own;
        infinite where it is not open."""
        slot = self._pool.slots.get(vault_id)
        if slot is None:
            return math.inf
        if slot.leases or not is_open(slot) or slot.opening.result().background.is_busy:
            return 0.0
        return time.monotonic() - slot.used

    def uses(self) -> list[VaultUse]:
        """Of each that is open."""
        now = time.monotonic()
        return [
            VaultUse(
                vault_id,
                slot.calls,
                now - next(iter(slot.under_way.values()), now),
                slot.opening.result().vector_bytes,
            )
            for vault_id, slot in self._pool.slots.items()
            if is_open(slot)
        ]

    @asynccontextmanager
    async def borrow(self, vault_id: str) -> AsyncIterator[Database | None]:
        """Its database, which stays open as for a call; None where it is not open."""
        slot = self._pool.slots.get(vault_id)
        if slot is None or not is_open(slot):
            yield None
            return
        slot.leases += 1
        try:
            yield slot.opening.result().db
        finally:
            self._pool.end_lease(slot)

    async def vacate(self, vault_id: str, within_s: float) -> None:
        """Close it once the calls that have it have ended, at the latest after ``within_s``. A call that comes
        meanwhile opens it anew, as far as whoever knows its files lets it."""
        if slot := self._pool.slots.pop(vault_id, None):
            await asyncio.shield(self._pool.see_to_the_end(vacate(slot, within_s)))

    def lose(self, vault_id: str) -> None:
        """Close it now, whatever its calls do."""
        if slot := self._pool.slots.pop(vault_id, None):
            self._pool.close_in_background(slot)

"""Vaults that leave this process while others stay: handed over to another server, or lost to one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from vaults.pool_slots import is_open, vacate

if TYPE_CHECKING:
    from vaults.db.connection import Database
    from vaults.pool import VaultPool


class PoolDepartures:
    """Of the vaults of one pool, by id."""

    def __init__(self, pool: VaultPool) -> None:
        self._pool = pool

    def is_in_use(self, vault_id: str) -> bool:
        """Whether a call has it, or it is being opened, or does work of its own."""
        slot = self._pool.slots.get(vault_id)
        if slot is None:
            return False
        return (
            slot.leases > 0 or not slot.opening.done() or (is_open(slot) and slot.opening.result().background.is_busy)
        )

    def database_of(self, vault_id: str) -> Database | None:
        """None where it is not open."""
        slot = self._pool.slots.get(vault_id)
        return slot.opening.result().db if slot is not None and is_open(slot) else None

    async def vacate(self, vault_id: str, within_s: float) -> None:
        """Close it once the calls that have it have ended, at the latest after ``within_s``. A call that comes
        meanwhile opens it anew, as far as whoever knows its files lets it."""
        if slot := self._pool.slots.pop(vault_id, None):
            await asyncio.shield(self._pool.see_to_the_end(vacate(slot, within_s)))

    def lose(self, vault_id: str) -> None:
        """Close it now, whatever its calls do."""
        if slot := self._pool.slots.pop(vault_id, None):
            self._pool.close_in_background(slot)

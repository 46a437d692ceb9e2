"""Looks for damage: open vaults now and then, after a start and each week every vault."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from vaults.damage_inspection import DamageInspector
from vaults.errors import StrongroomError
from vaults.pool_slots import Slot, is_open
from vaults.registry import DATABASE_FILE, VaultEntry

if TYPE_CHECKING:
    from vaults.pool import VaultPool
    from vaults.vault import SharedResources

INSPECT_S = 5.0
"""Seconds between two checks for open vaults that are due for inspection."""

INSPECT_PAUSE_S = 0.05
"""Seconds between two vaults that are opened only for inspection: calls come first."""

INSPECT_AGAIN_S = 3600.0
"""Seconds after which an open vault is inspected again."""

INSPECT_ALL_S = 7 * 86_400.0
"""Seconds after which every vault is inspected again, also those nobody asks for."""


class PoolInspections:
    """The inspections of one pool's vaults."""

    def __init__(self, pool: VaultPool, inspector: DamageInspector, share: Callable[[], SharedResources]) -> None:
        self._pool = pool
        self._inspector = inspector
        self._share = share

    def close(self) -> None:
        """End the inspection under way."""
        self._inspector.close()

    async def run(self) -> None:
        """Until the pool is closed or this is cancelled."""
        await asyncio.sleep(INSPECT_S)
        looked: float | None = None
        while not self._pool.is_closed:
            if looked is None or time.monotonic() > looked + INSPECT_ALL_S:
                looked = time.monotonic()
                await self._pool.outlive("inspect_databases", self._inspect_closed())
            await self._pool.outlive("inspect_databases", self.inspect())
            await asyncio.sleep(INSPECT_S)

    async def _inspect_closed(self) -> None:
        """After a start and each week: inspect every vault, also those nobody asks for, slowly."""
        for entry in self._pool.registered():
            await self.inspect()
            if entry.vault_id in self._pool.slots or not (self._pool.folder_of(entry) / DATABASE_FILE).is_file():
                continue
            await self._inspect_one(entry)
            if entry.vault_id in self._pool.idle():
                vault = self._pool.slots[entry.vault_id].opening.result()
                if not vault.background.is_busy:
                    await self._pool.evict(entry.vault_id)
            await asyncio.sleep(INSPECT_PAUSE_S)

    async def inspect(self) -> None:
        """Inspect one after the other the databases of open vaults whose lease this process holds, unless that was done
        lately. A damaged vault is quarantined."""
        for slot in list(self._pool.slots.values()):
            if is_open(slot) and _is_inspection_due(slot):
                await self._inspect_one(slot.opening.result().entry)

    async def _inspect_one(self, entry: VaultEntry) -> None:
        await self._share().openings.wait_for_calm()
        with contextlib.suppress(StrongroomError):  # its callers get the error; tried again later
            async with self._pool.lease(entry) as vault:
                slot = self._pool.slots.get(entry.vault_id)
                if slot is not None and _is_inspection_due(slot):
                    await self._inspector.inspect(vault)
                    slot.inspected = time.monotonic()


def _is_inspection_due(slot: Slot) -> bool:
    """Whether this process is to inspect an open vault now."""
    recent = slot.inspected is not None and slot.inspected > time.monotonic() - INSPECT_AGAIN_S
    return not recent and slot.opening.result().lease.held

"""What a server sees to now and then: keys that no token needs any more, vaults that are not in their place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from auth import key_rotation
from auth.keys import KeyRing
from ops.vault_life import folder_moves
from server.services import Services
from vaults.errors import StrongroomError

EVERY_S = 3600.0

log = structlog.get_logger("server.http")


@asynccontextmanager
async def keep_up(services: Services, ring: KeyRing | None) -> AsyncIterator[None]:
    """See to it, from the start on, as long as the block runs. ``ring`` None: no tokens are issued here."""
    task = asyncio.create_task(_run(services, ring), name="upkeep")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _run(services: Services, ring: KeyRing | None) -> None:
    while True:
        with suppress(StrongroomError):  # what cannot be written or read now is tried again
            await services.defects.outlive("upkeep", look_at_vaults(services))
            await services.defects.outlive("upkeep", look_at_keys(services, ring))
        await asyncio.sleep(EVERY_S)


async def look_at_vaults(services: Services) -> None:
    """Do what is left to be done to the folders of vaults that were renamed or deleted, and say what cannot be."""
    await folder_moves.finish_all(services.control, services.data)
    left = await services.control.read(folder_moves.list_moves)
    if left:
        log.warning("vaults_not_in_place", vaults=", ".join(move.to_name or move.from_name for move in left))


async def look_at_keys(services: Services, ring: KeyRing | None) -> None:
    """Remove the keys that no token needs any more."""
    if ring is not None:
        for key in await key_rotation.remove_spent(services.control, ring):
            log.info("key_removed", kid=key.kid)

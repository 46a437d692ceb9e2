"""Which vaults a server of several backs up, so that each is backed up by one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.rendezvous import prefer
from vaults.registry import VaultEntry


async def own_share(held: HeldVaults, entries: Sequence[VaultEntry]) -> list[VaultEntry]:
    """Of these vaults those that this server holds, and those nobody holds that it is to take. What moves meanwhile
    is found by its next holder with its next look. Raises ``LogUnavailable``."""
    membership = held.membership
    if membership.state != "serving":
        return []
    holders = await asyncio.to_thread(held.placements.holders)
    free = {each.vault: each for each in holders if each.address is None}

    def is_ours(vault: str) -> bool:
        if held.is_here(vault):
            return True
        if (found := free.get(vault)) is None:
            return False
        target = prefer(vault, membership.candidates, found.pin, found.standby)
        return target is not None and target.id == membership.id

    return [entry for entry in entries if is_ours(entry.vault_id)]

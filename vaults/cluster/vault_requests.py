"""Asking for a vault that another server holds: it looks for that with each beat, and hands it over."""

from __future__ import annotations

import asyncio

from vaults.cluster.postgres.placements import Placements
from vaults.errors import VaultUnavailable

WAIT_S = 30.0
"""Seconds a vault is waited for: longer than a holder takes to end its calls, and than a dead one is believed alive."""

LOOK_S, LOOK_MOST_S = 0.05, 0.5
"""Seconds between two looks: the first ones, and the longest."""


async def wait_for_hand_over(placements: Placements, vault: str, server: str, within_s: float = WAIT_S) -> None:
    """Have whoever holds the vault hand it over to ``server``, and return once it is free, which it is for that one
    alone. Raises ``VaultUnavailable`` after ``within_s``, ``LogUnavailable``, ``NotFound``."""
    try:
        async with asyncio.timeout(within_s):
            pause = LOOK_S
            while not await asyncio.to_thread(_is_handed_over, placements, vault, server):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LOOK_MOST_S)
    except TimeoutError:
        await asyncio.to_thread(placements.forgo, vault, server)
        raise VaultUnavailable("another server does not hand the vault over", hint="call again later") from None


def _is_handed_over(placements: Placements, vault: str, server: str) -> bool:
    placements.want(vault, server)
    holder = placements.holder(vault)
    return holder.server == server or (holder.address is None and holder.wanted in (None, server))

"""A place in the pool: one open vault, its leases and its gate."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vaults.errors import StrongroomError, VaultQuarantined
from vaults.vault_gate import VaultGate

if TYPE_CHECKING:  # what vaults are made of is most of this program, and a start opens none
    from vaults.domain.continuity.live_status import VaultFigures
    from vaults.domain.maintenance.integrity_round import IntegrityFigures
    from vaults.vault import Vault

CALLS_END_S = 2.0
"""Max seconds that calls have to notice that their vault was closed, before its folder is somebody else's."""


@dataclass(slots=True)
class Slot:
    """A vault that is open, or being opened."""

    name: str
    opening: asyncio.Task[Vault]
    gate: VaultGate
    leases: int = 0
    calls: int = 0
    """How often it was leased to one."""
    under_way: dict[int, float] = field(default_factory=dict)
    """By their numbers the calls that have it, each with the time it got it, the first one first."""
    unused: asyncio.Event | None = None
    """Set with the last lease, where somebody waits for it."""
    used: float = field(default_factory=time.monotonic)
    is_resting: bool = False
    inspected: float | None = None
    figures: VaultFigures | None = None
    """As last counted: a resting vault is not woken for it."""
    integrity: IntegrityFigures | None = None


@dataclass(frozen=True, slots=True)
class QuarantinedVault:
    """A vault that could not be opened, and until when its callers are told so."""

    name: str
    until: float
    failure: VaultQuarantined


def is_open(slot: Slot) -> bool:
    """Whether the vault was opened, and is neither being opened nor failed to."""
    return slot.opening.done() and not slot.opening.cancelled() and slot.opening.exception() is None


async def close_slot(slot: Slot) -> None:
    """Close the vault, whatever its callers do, and leave its gate."""
    try:
        vault = await slot.opening
    except StrongroomError:
        return
    try:
        await vault.close()
    finally:
        slot.gate.leave()


async def vacate(slot: Slot, within_s: float) -> None:
    """Close the vault once the calls that have it have ended, at the latest after ``within_s``."""
    slot.unused = asyncio.Event()
    if slot.leases:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await slot.unused.wait()
    with contextlib.suppress(StrongroomError):
        await close_slot(slot)


async def hand_over(slot: Slot) -> None:
    """Close a vault whose folder somebody wants, and hold its gate until the calls in flight have ended."""
    slot.unused = asyncio.Event()
    try:
        with contextlib.suppress(StrongroomError):
            await (await slot.opening).close()
        if slot.leases:
            async with asyncio.timeout(CALLS_END_S):
                await slot.unused.wait()
    except TimeoutError:
        return
    finally:
        slot.gate.leave()

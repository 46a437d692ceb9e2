"""Checks of who works in a vault and of its activity log: sessions, claims, events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ops.doctor.check import Check
from vaults.domain.continuity import activity_report
from vaults.domain.continuity.activity_report import LooseEnds
from vaults.vault import Vault


async def sessions(vault: Vault) -> Check:
    """Whether every active session has somebody in it."""
    if count := (await _ends(vault)).stale:
        message = f"{count:,} sessions are active and nobody is in them"
        return Check("sessions", "notice", message, "the next call pauses them")
    return Check("sessions", "ok", "every active session has somebody in it")


async def claims(vault: Vault) -> Check:
    """Whether every claim is held by somebody at work."""
    if count := (await _ends(vault)).orphans:
        message = f"{count:,} resources are claimed by sessions that are over"
        return Check("claims", "notice", message, "they hinder nobody; the next call gives them back")
    return Check("claims", "ok", "every claim is held by a session that is active")


async def ledger(vault: Vault) -> Check:
    """Whether every call could be written into the activity log since this process opened the vault."""
    if count := vault.ledger.lost:
        message = f"{count:,} calls could not be written into the activity log; they were served all the same"
        return Check("ledger", "warning", message, "free space, or end what holds the database")
    return Check("ledger", "ok", "every call was written into the activity log")


async def events(vault: Vault) -> Check:
    """Whether events are deleted when their time is over."""
    keep = vault.shared.telemetry.keep
    if (oldest := (await _ends(vault)).expired) is not None:
        message = f"the oldest event is of {oldest}; events are kept for {keep}"
        return Check("events", "notice", message, "a running server deletes them while the vault is open")
    return Check("events", "ok", f"no event is kept for longer than {keep}")


async def _ends(vault: Vault) -> LooseEnds:
    cutoffs, keep = vault.ledger.cutoffs(), vault.shared.telemetry.keep
    return await vault.db.read(lambda tx: activity_report.loose_ends(tx, cutoffs, keep))


CONTINUITY: tuple[Callable[[Vault], Awaitable[Check]], ...] = (sessions, claims, ledger, events)

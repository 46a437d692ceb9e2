"""Checks of who works in a vault and of its activity log: sessions, claims, events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ops.doctor.check import DoctorCheck
from vaults.domain.continuity import activity_report
from vaults.domain.continuity.activity_report import LooseEnds
from vaults.vault import Vault


async def sessions(vault: Vault) -> DoctorCheck:
    """Whether every active session has somebody in it."""
    if count := (await _read_loose_ends(vault)).stale:
        message = f"{count:,} sessions are active and nobody is in them"
        return DoctorCheck("sessions", "notice", message, "the next call pauses them")
    return DoctorCheck("sessions", "ok", "every active session has somebody in it")


async def claims(vault: Vault) -> DoctorCheck:
    """Whether every claim is held by somebody at work."""
    if count := (await _read_loose_ends(vault)).orphans:
        message = f"{count:,} resources are claimed by sessions that are over"
        return DoctorCheck("claims", "notice", message, "they hinder nobody; the next call gives them back")
    return DoctorCheck("claims", "ok", "every claim is held by a session that is active")


async def ledger(vault: Vault) -> DoctorCheck:
    """Whether every call could be written into the activity log since this process opened the vault."""
    if count := vault.activity_log.lost:
        message = f"{count:,} calls could not be written into the activity log; they were served all the same"
        return DoctorCheck("ledger", "warning", message, "free space, or end what holds the database")
    return DoctorCheck("ledger", "ok", "every call was written into the activity log")


async def events(vault: Vault) -> DoctorCheck:
    """Whether events are deleted when their time is over."""
    keep = vault.shared.telemetry.keep
    if (oldest := (await _read_loose_ends(vault)).expired) is not None:
        message = f"the oldest event is of {oldest}; events are kept for {keep}"
        return DoctorCheck("events", "notice", message, "a running server deletes them while the vault is open")
    return DoctorCheck("events", "ok", f"no event is kept for longer than {keep}")


async def _read_loose_ends(vault: Vault) -> LooseEnds:
    cutoffs, keep = vault.activity_log.cutoffs(), vault.shared.telemetry.keep
    return await vault.db.read(lambda tx: activity_report.find_loose_ends(tx, cutoffs, keep))


CONTINUITY: tuple[Callable[[Vault], Awaitable[DoctorCheck]], ...] = (sessions, claims, ledger, events)

"""Whether what a vault does by itself ends as it should."""

from __future__ import annotations

from ops.doctor.check import DoctorCheck
from vaults.vault import Vault


async def background(vault: Vault) -> DoctorCheck:
    """Whether a task of this vault met a defect since this process opened it, and has not ended well after that."""
    name, met = "background", vault.background.defects.current
    if not met:
        return DoctorCheck(name, "ok", "no background task fails")
    todo = "report the log lines 'background task … failed' to the maintainers; each is tried again"
    details = [f"{task}: {each.kind} ({each.times:,}), last at {each.last}" for task, each in sorted(met.items())]
    return DoctorCheck(name, "warning", f"{len(met):,} background tasks fail because of a defect", todo, details)

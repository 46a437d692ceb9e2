"""Whether what the vault holds still matches the hashes that were taken of it, as its own weekly look found."""

from __future__ import annotations

from ops.doctor.check import DoctorCheck
from vaults.domain.maintenance import integrity_round
from vaults.domain.maintenance.integrity_round import EVERY_S
from vaults.vault import Vault

DAY_S = 86_400.0
OVERDUE = 2
"""Times the interval after which a look is overdue."""

_SAID = {
    "memories_changed": "memories differ from their hash",
    "documents_changed": "documents differ from their hash",
    "versions_damaged": "kept versions of notes cannot be read",
    "notes_changed_unseen": "files of notes changed while their time and size did not",
}


async def integrity(vault: Vault) -> DoctorCheck:
    """What the last look at the content found, and whether there was one."""
    state = await vault.db.read(integrity_round.read_state)
    age_s = await vault.db.read(integrity_round.age_s)
    name, days = "integrity", int(age_s / DAY_S)
    if state.problems:
        found = {code: max(state.found.get(code, 0), state.last.get(code, 0)) for code in _SAID}
        told = "; ".join(f"{count:,} {_SAID[code]}" for code, count in found.items() if count)
        todo = f"run: strongroom verify --vault {vault.name}; then restore what is wrong from a backup"
        return DoctorCheck(name, "warning", told, todo)
    if age_s > OVERDUE * EVERY_S:
        message = f"its content was last looked at {days:,} days ago"
        return DoctorCheck(name, "notice", message, "a running server does it once a week, while the vault is open")
    if state.ended is None:
        return DoctorCheck(name, "ok", "its content is looked at once a week; it is too new for that")
    return DoctorCheck(name, "ok", f"its content matched its hashes {days:,} days ago")

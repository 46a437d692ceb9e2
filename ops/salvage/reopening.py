"""What a salvaged vault still has to read once it is open: its notes, and symbols of source code."""

from __future__ import annotations

from vaults.domain.code.rebuilding import rebuild_code
from vaults.domain.notes.sync import readiness
from vaults.vault import Vault


async def catch_up(vault: Vault) -> None:
    """Return once its notes are indexed and its code is known. Vectors are made in the background."""
    await readiness.wait_until_synced(vault)
    await rebuild_code(vault, all_of_it=False)

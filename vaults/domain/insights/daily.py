"""Writing down once a day what the graph is, and again while it changes, behind the calls."""

from __future__ import annotations

from vaults.graph import days
from vaults.vault import Chore, Vault


async def write_down(vault: Vault) -> None:
    """A chore."""
    await vault.db.write_aside(days.keep)


WRITE_DOWN = Chore(days.owed, write_down)

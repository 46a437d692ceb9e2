"""Writing down once a day what the graph is, and again while it changes, behind the calls."""

from __future__ import annotations

from vaults.graph import daily_counts
from vaults.vault import Chore, Vault


async def write_down(vault: Vault) -> None:
    """A chore."""
    await vault.db.write_aside(daily_counts.keep)


WRITE_DOWN = Chore(daily_counts.owed, write_down)

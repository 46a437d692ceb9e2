"""Recording daily counts of the graph, and updating them while it changes, in the background."""

from __future__ import annotations

from vaults.graph import daily_counts
from vaults.vault import BackgroundJob, Vault


async def write_daily_counts(vault: Vault) -> None:
    """A background job: write today's counts."""
    await vault.db.write_uncounted(daily_counts.write_today)


WRITE_DAILY_COUNTS = BackgroundJob(daily_counts.is_due, write_daily_counts)

"""Writing down once a day what the graph is, and again while it changes, behind the calls."""

from __future__ import annotations

from vaults.graph import daily_counts
from vaults.vault import BackgroundJob, Vault


async def write_daily_counts(vault: Vault) -> None:
    """A background job."""
    await vault.db.write_uncounted(daily_counts.write_today)


WRITE_DAILY_COUNTS = BackgroundJob(daily_counts.is_due, write_daily_counts)

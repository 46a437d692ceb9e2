"""A new base for a vault's log, beside what goes on in the vault."""

from __future__ import annotations

from concurrent.futures import Executor

from vaults.cluster.page_log import PageLog
from vaults.context import run_in, run_to_completion
from vaults.db.connection import Database


async def rebase(db: Database, pages: PageLog, pool: Executor) -> bool:
    """Store a new base if one is due; whether one was. ``pages`` is the log of ``db``. The writer is held up as long as
    it takes to begin a snapshot; the rest is done on a thread of ``pool``. Raises what ``PageLog.store_base`` does."""
    if not pages.is_rebase_due:
        return False
    await run_to_completion(_rebase(db, pages, pool))
    return True


async def _rebase(db: Database, pages: PageLog, pool: Executor) -> None:
    source = await db.run_on_writer(pages.freeze)
    await run_in(pool, pages.store_base, source)

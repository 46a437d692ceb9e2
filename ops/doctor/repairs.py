"""What a doctor may do without asking: finish what was begun, remove what nobody owns, make missing vectors."""

from __future__ import annotations

from vaults.activity_log import stale_sessions
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.maintenance.reindexing import backfill_vectors
from vaults.domain.notes.commit import recovery
from vaults.domain.notes.sync import readiness
from vaults.errors import StrongroomError
from vaults.index import embeddings
from vaults.vault import Vault


async def repair(vault: Vault) -> list[str]:
    """Repair what can be repaired without losing anything; returns what was done, a line each. What cannot be done
    now is left to the checks to report."""
    done: list[str] = []
    await readiness.wait_until_synced(vault)
    for step in (_recover, _sweep, _pause_sessions, _backfill_vectors):
        try:
            if line := await step(vault):
                done.append(line)
        except StrongroomError as failure:
            done.append(f"not done: {failure.message}")
    return done


async def _recover(vault: Vault) -> str:
    count = await recovery.recover(vault)
    return f"{count:,} interrupted changes were ended" if count else ""


async def _sweep(vault: Vault) -> str:
    async with vault.notes.writing():
        swept = await run_in(vault.shared.pool, vault.notes.tree.sweep)
    removed = f"{swept.removed:,} temporary files were removed" if swept.removed else ""
    kept = f"{len(swept.kept):,} were kept, as conflict copies" if swept.kept else ""
    return "; ".join(filter(None, (removed, kept)))


async def _pause_sessions(vault: Vault) -> str:
    cutoffs = vault.activity_log.cutoffs()
    count = await vault.db.write(lambda tx: stale_sessions.pause_stale(tx, cutoffs))
    return f"{count:,} sessions nobody is in were paused" if count else ""


async def _backfill_vectors(vault: Vault) -> str:
    def missing(tx: Reader) -> int:
        return embeddings.count_missing(tx)

    before = await vault.db.read(missing)
    await backfill_vectors(vault, lambda *_: None)
    count = before - await vault.db.read(missing)
    return f"{count:,} vectors were made" if count > 0 else ""

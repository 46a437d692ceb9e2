"""Takes back what the last run let go, and drops the copies that allow it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.maintenance import eviction_copies, eviction_log
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What came back, and what did not: of some no copy is left, in place of others there is something else now."""

    restored: int
    lost: int
    taken: int


async def undo(vault: Vault) -> UndoReport:
    """Put back what the last run let go, as far as its copies are left. Counts as a use of each: it is not the first to
    go again. Raises ``StorageFull``."""
    vault.disk.check_writable_in_bulk()
    await vault.adopt_model()
    copies = await vault.db.read(eviction_log.list_copies)
    lost = await vault.db.read(lambda tx: eviction_log.count_lost(tx, copies[0])) if copies else 0
    restored = taken = 0
    for seq in copies:
        data = await vault.db.read(lambda tx, seq=seq: eviction_copies.read_copy(tx, seq))  # type: ignore[misc]
        if data is None:
            lost += 1
            continue
        item = await run_in(vault.shared.pool, eviction_copies.decompress, data)
        done = await vault.db.write(partial(_put_back, vault, seq, item))
        restored, lost, taken = restored + (done is True), lost + (done is None), taken + (done is False)
    vault.start_background_work()
    return UndoReport(restored, lost, taken)


def _put_back(vault: Vault, seq: int, item: eviction_copies.ItemRows, tx: Writer) -> bool | None:
    """``put_back``, unless the item was purged since its copy was read, or what brought it was taken back: None."""
    if not eviction_copies.has_copy(tx, seq):
        return None
    done = None if eviction_copies.is_taken_back(tx, item) else eviction_copies.put_back(vault, tx, item)
    if done:
        eviction_log.set_state(tx, seq, "restored")
    tx.run("DELETE FROM evicted_copies WHERE eviction = :seq", {"seq": seq})
    return done


async def empty_copies(vault: Vault) -> int:
    """Drop all copies for good, as a purge does; returns how many there were."""
    await vault.disk.make_room()
    count = int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM evicted_copies")))
    await vault.db.write(lambda tx: tx.run("DELETE FROM evicted_copies"))
    await vault.db.checkpoint()
    return count

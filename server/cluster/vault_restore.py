"""A vault that was taken out of a backup and proven, made what the cluster serves under that id."""

from __future__ import annotations

from pathlib import Path

from ops.backup.restore import PlacedVault, RegisterVault
from ops.backup.restored_registration import RestoreTarget
from server.cluster import whole_vaults
from server.cluster.parts import Cluster
from server.cluster.release import begin_schema
from server.cluster.vault_arrival import refuse_followed
from server.cluster.whole_vaults import RestingDatabase
from vaults.cluster.hand_overs import CALLS_END_S
from vaults.db.connection import Database
from vaults.db.transactions import Transactions
from vaults.domain.notes.sync.folder_take_up import keep_folder
from vaults.registry import DATABASE_FILE
from vaults.settings import StorageSettings
from vaults.vault import NOTES_FOLDER


async def put_in_cluster(
    control: Transactions,
    cluster: Cluster,
    storage: StorageSettings,
    target: RestoreTarget,
    folder: Path,
    register: RegisterVault,
) -> PlacedVault:
    """``PutInPlace`` of several servers: the holder of a vault that is replaced hands it over for that. Raises
    ``InvalidArgument`` for what one machine alone can have, ``VaultUnavailable`` where it is not handed over or servers
    of an older release serve, ``StorageFull``, and what ``register`` raises."""
    seat, vault_id = cluster.seat(), target.entry.vault_id
    database = await _to_rest(folder, target.entry.name, storage)
    await begin_schema(seat.connections)
    if target.is_new:
        return PlacedVault(await whole_vaults.add(control, seat, vault_id, database, register), 0.0)
    await cluster.held.hand_over(vault_id, CALLS_END_S, seat.server)
    done = await whole_vaults.replace(control, seat, vault_id, database, register)
    return PlacedVault(done.said, done.away_s)


async def _to_rest(folder: Path, vault: str, storage: StorageSettings) -> RestingDatabase:
    """With its notes as rows."""
    db = Database(folder / DATABASE_FILE, storage)
    try:
        await db.read(lambda tx: refuse_followed(tx, vault))
        await keep_folder(db, folder / NOTES_FOLDER)
        page_size = await db.read(lambda tx: int(tx.value("PRAGMA page_size")))
    finally:
        await db.close()
    return RestingDatabase(folder / DATABASE_FILE, page_size)

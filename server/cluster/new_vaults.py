"""The files of a vault that was registered and never opened, made by the server that takes it first."""

from __future__ import annotations

from pathlib import Path

from server.cluster.release import begin_schema
from vaults.cluster.control.new_vaults import began_empty
from vaults.cluster.postgres.connections import Connections
from vaults.db.transactions import Transactions
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings


async def begin_new_vault(
    control: Transactions, connections: Connections, storage: StorageSettings, entry: VaultEntry, folder: Path
) -> bool:
    """``make_new_vault`` for a vault of the cluster, which older releases could not open. Raises ``VaultUnavailable``
    while servers of one serve, ``LogUnavailable``."""
    await begin_schema(connections)
    return await make_new_vault(control, storage, entry, folder)


async def make_new_vault(control: Transactions, storage: StorageSettings, entry: VaultEntry, folder: Path) -> bool:
    """Make an empty vault in ``folder``; False for one that was not registered as new."""
    if not await control.read(lambda tx: began_empty(tx, entry.vault_id)):
        return False
    from vaults.vault import create_files  # most of this program, and a start opens none

    await create_files(folder, storage, entry.vault_id)
    return True

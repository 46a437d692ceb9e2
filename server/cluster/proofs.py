"""That what the cluster stores of a vault is the vault, told from its database alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ops.backup.turns import SCRATCH_FOLDER
from server.cluster.vault_arrival import ArrivedVault, digest_notes
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.restore import refuse_unsound, restore
from vaults.db.private_copy import read_apart
from vaults.domain.notes.commit import note_files
from vaults.errors import VaultUnavailable
from vaults.files.scratch_folders import scratch_folder
from vaults.registry import DATABASE_FILE
from vaults.settings import StorageSettings


async def prove_stored(connections: Connections, vault: ArrivedVault, data: Path, storage: StorageSettings) -> None:
    """Restore the vault from the log and compare it, page by page and note by note, with what arrived. Raises
    ``LogDamaged`` and ``VaultUnavailable`` where it differs."""
    await asyncio.to_thread(_prove, PostgresVaultLog(connections), vault, data, storage)


def _prove(store: PostgresVaultLog, vault: ArrivedVault, data: Path, storage: StorageSettings) -> None:
    with scratch_folder(data / SCRATCH_FOLDER) as scratch:
        database = scratch / DATABASE_FILE
        restored = restore(store, vault.vault_id, database, vault.head, refuse_unsound)
        notes = digest_notes(read_apart(database, storage, note_files.list_files))
    if restored is None or restored.head.digest.hex() != vault.digest or notes != vault.notes:
        raise VaultUnavailable(f"vault {vault.name} is not stored as it is", hint="call again")

"""One vault of the cluster, copied out of its log into a folder that one machine serves.

The log is read as it stands at one entry, so the vault may be served meanwhile; what is written later is not in the
copy. Each entry was compared with its checksum, the database with the digest the last entry names, and the files of
notes with those of their rows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from server.cluster.vault_arrival import digest_notes
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.log_replay import RestoredLog
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.restore import refuse_unsound, restore
from vaults.db.connection import Database
from vaults.domain.notes.commit import note_files
from vaults.domain.notes.commit.folder_layout import lay_out_notes
from vaults.domain.notes.verify.kept_file_check import find_differing
from vaults.errors import VaultQuarantined
from vaults.files.permissions import make_private_folder
from vaults.files.tree import Tree
from vaults.registry import DATABASE_FILE, VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import NOTES_FOLDER

ATTEMPTS = 5
"""How often a log is read whose base is exchanged meanwhile."""


@dataclass(frozen=True, slots=True)
class DepartedVault:
    """A vault as one entry of its log left it, in a folder. ``digest``: of its database, page by page; ``notes``: of
    all files of notes, with their paths."""

    name: str
    vault_id: str
    head: int
    digest: str
    notes: str
    files: int


async def move_out(
    connections: Connections, entry: VaultEntry, folder: Path, storage: StorageSettings
) -> DepartedVault:
    """Put the vault as its log has it now in ``folder``, in the place of what an attempt before has left there. Raises
    ``LogDamaged``, ``LogUnavailable``, ``VaultQuarantined``, ``NotFound`` for a vault that nothing was stored of."""
    make_private_folder(folder)
    database, notes = folder / DATABASE_FILE, folder / NOTES_FOLDER
    restored = await asyncio.to_thread(restore_now, connections, entry, database)
    laid_out = await asyncio.to_thread(lay_out_notes, database, notes, storage)
    db = Database(database, storage)
    try:
        rows = await db.read(note_files.list_files)
        if differing := await asyncio.to_thread(find_differing, Tree(notes), rows):
            raise VaultQuarantined(f"{differing[0]} of vault {entry.name} was not laid out as it is", reason="damaged")
        await db.write(note_files.clear)  # on one machine the folder is the truth
    finally:
        await db.close()
    head = restored.head
    return DepartedVault(entry.name, entry.vault_id, head.seq, head.digest.hex(), digest_notes(rows), laid_out.files)


def has_entries(connections: Connections, entry: VaultEntry) -> bool:
    """Whether anything of the vault is stored. Blocking."""
    return PostgresVaultLog(connections).base(entry.vault_id) is not None


def restore_now(connections: Connections, entry: VaultEntry, database: Path) -> RestoredLog:
    """Put the database as the log has it now at ``database``. Blocking. Raises as ``move_out``."""
    store, placements = PostgresVaultLog(connections), Placements(connections)
    for attempt in range(ATTEMPTS):
        head = placements.holder(entry.vault_id).head
        try:
            restored = restore(store, entry.vault_id, database, head, refuse_unsound)
        except LogUnavailable:  # its holder may have exchanged the base meanwhile
            if attempt == ATTEMPTS - 1:
                raise
            continue
        if restored is None:
            break
        return restored
    raise VaultQuarantined(f"nothing of vault {entry.name} is stored in the cluster", reason="missing")

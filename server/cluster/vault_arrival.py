"""One vault of a single machine, moved into the cluster's log: database, notes and all.

What moves is a private copy, in which the files of notes became rows; the vault itself stays as it is. So it may be
served meanwhile, and the same done again, once it rests, moves what has changed since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ops.backup.turns import SCRATCH_FOLDER
from server.cluster.cluster_seat import ClusterSeat
from server.cluster.release import begin_schema
from vaults.cluster.page_log import HeldVault
from vaults.cluster.page_transfer import TransferredLog, begin_log, bring_up
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.vault_log import Placement
from vaults.db.connection import Database
from vaults.db.database_copy import FullSpeed, open_snapshot
from vaults.db.migration import migrate
from vaults.db.sql import Reader
from vaults.domain.notes.commit import note_files
from vaults.domain.notes.commit.note_files import NoteFile
from vaults.domain.notes.sync.folder_take_up import keep_folder
from vaults.errors import Conflict, InvalidArgument, VaultQuarantined
from vaults.files.note_walk import SkippedPath
from vaults.files.scratch_folders import scratch_folder
from vaults.registry import DATABASE_FILE, VaultEntry, folder_of
from vaults.settings import StorageSettings
from vaults.vault import NOTES_FOLDER


@dataclass(frozen=True, slots=True)
class ArrivedVault:
    """A vault whose log ends with it. ``digest``: of its database, page by page; ``notes``: of all files of notes, with
    their paths. ``moved``: bytes of the database the first time, later of what differed. ``left_out``: what cannot be
    moved, such as links."""

    name: str
    vault_id: str
    head: int
    digest: str
    notes: str
    files: int
    moved: int
    left_out: tuple[SkippedPath, ...] = ()


async def move_in(seat: ClusterSeat, entry: VaultEntry, data: Path, storage: StorageSettings) -> ArrivedVault:
    """Have the log of a vault end with the one in the data folder as it is now. Raises ``InvalidArgument`` for what a
    cluster cannot keep, ``Conflict`` where a server has the vault already, ``VaultQuarantined``, ``StorageFull``, and
    ``VaultUnavailable`` while servers of an older release serve."""
    folder = folder_of(data, entry.name, None)
    with scratch_folder(data / SCRATCH_FOLDER) as scratch:
        copy = scratch / DATABASE_FILE
        await asyncio.to_thread(_copy, folder / DATABASE_FILE, copy, storage)
        db = Database(copy, storage)
        try:
            await begin_schema(seat.connections)
            await migrate(db, "vault")
            await db.read(lambda tx: _refuse_foreign(tx, entry))
            left_out = await keep_folder(db, folder / NOTES_FOLDER)
            rows = await db.read(note_files.list_files)
            page_size = await db.read(lambda tx: int(tx.value("PRAGMA page_size")))
        finally:
            await db.close()
        done = await _store(seat, entry, copy, page_size, storage)
    return ArrivedVault(
        entry.name,
        entry.vault_id,
        done.placement.head,
        done.digest,
        digest_notes(rows),
        len(rows),
        done.moved,
        tuple(left_out),
    )


def digest_notes(rows: Sequence[NoteFile]) -> str:
    """One digest of all files, by path and bytes."""
    from vaults.domain.notes.index.extraction import compute_digest

    return compute_digest("".join(f"{each.version} {each.path}\n" for each in rows).encode())


def _copy(live: Path, copy: Path, storage: StorageSettings) -> None:
    with open_snapshot(live, storage) as snapshot:
        snapshot.take()
        snapshot.copy_to(copy, FullSpeed())


def _refuse_foreign(tx: Reader, entry: VaultEntry) -> None:
    if tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'") != entry.vault_id:
        raise VaultQuarantined(f"the files of vault {entry.name} belong to another vault", reason="foreign")
    refuse_followed(tx, entry.name)


def refuse_followed(tx: Reader, vault: str) -> None:
    """Raise ``InvalidArgument`` for a vault that follows folders of one machine."""
    followed = tx.value("SELECT name FROM collections WHERE removed = 0 ORDER BY name LIMIT 1")
    if followed is not None:
        raise InvalidArgument(
            f"vault {vault}",
            f"follows the folder of collection {followed}, which lies on the disk of one machine",
            hint="remove its collections first; what was read of them goes with them",
        )


async def _store(
    seat: ClusterSeat, entry: VaultEntry, copy: Path, page_size: int, storage: StorageSettings
) -> TransferredLog:
    store, placements = PostgresVaultLog(seat.connections), Placements(seat.connections)
    placement = await asyncio.to_thread(_take, placements, entry, seat.server)
    try:
        if await asyncio.to_thread(store.base, placement.vault) is None:
            done = await begin_log(HeldVault(placement, store, seat.lease), copy, storage)
        else:
            done = await asyncio.to_thread(bring_up, store, placement, copy, page_size)
    finally:
        await asyncio.to_thread(placements.release, placement)
    return done


def _take(placements: Placements, entry: VaultEntry, server: str) -> Placement:
    placements.register(entry.vault_id)
    placement = placements.take(entry.vault_id, server)
    if placement is None:
        raise Conflict(f"a server of the cluster has vault {entry.name} already", hint="stop the other cluster join")
    return placement

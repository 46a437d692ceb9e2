"""A second vault with the content of one, made of its log while the first is served, wherever that is."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from uuid_utils import uuid7

from ops.backup.turns import SCRATCH_FOLDER
from server.cluster import whole_vaults
from server.cluster.cluster_seat import ClusterSeat
from server.cluster.vault_departure import has_entries, restore_now
from server.cluster.whole_vaults import RestingDatabase
from vaults import clock, registry
from vaults.cluster.control import new_vaults
from vaults.context import run_to_completion
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, InvalidArgument
from vaults.files.failures import translate_machine_errors
from vaults.files.scratch_folders import scratch_folder
from vaults.registry import DATABASE_FILE, NAME_RULE, VaultEntry, is_valid_name
from vaults.settings import StorageSettings


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """Where a copy is made: by which server, and in which data folder it lies until it is stored."""

    control: Transactions
    seat: ClusterSeat
    data: Path
    storage: StorageSettings


async def copy(place: CopyPlace, name: str, new: str) -> VaultEntry:
    """Make vault ``new`` with what the log of ``name`` holds now, its rules and nobody's grants. Raises ``NotFound``,
    ``InvalidArgument``, ``AlreadyExists``, ``LogDamaged``, ``LogUnavailable``, ``StorageFull``, ``VaultQuarantined``;
    nothing is left of the copy then."""
    if not is_valid_name(new):
        raise InvalidArgument("name", NAME_RULE)
    entry, is_unopened = await place.control.read(lambda tx: _look_up(tx, name, new))
    if is_unopened and not await asyncio.to_thread(has_entries, place.seat.connections, entry):
        return await place.control.write(lambda tx: _make_empty(tx, name, new))
    return await run_to_completion(_copy(place, entry, new))


async def _copy(place: CopyPlace, entry: VaultEntry, new: str) -> VaultEntry:
    vault_id = str(uuid7())
    with scratch_folder(place.data / SCRATCH_FOLDER) as scratch:
        file = scratch / DATABASE_FILE
        database = await asyncio.to_thread(_make, place, entry, file, vault_id)

        def register(tx: Writer) -> VaultEntry:
            source, _ = _look_up(tx, entry.name, new)
            registry.create(tx, new, None, vault_id)
            return registry.copy_rules(tx, source, new)

        return await whole_vaults.add(place.control, place.seat, vault_id, database, register)


def _look_up(tx: Reader, name: str, new: str) -> tuple[VaultEntry, bool]:
    """The vault to copy, and whether it may be one that nobody opened yet."""
    entry = registry.get(tx, name)
    if tx.one("SELECT 1 FROM vaults WHERE name = :name", {"name": new}):
        raise AlreadyExists(f"vault {new} exists already")
    return entry, new_vaults.began_empty(tx, entry.vault_id)


def _make_empty(tx: Writer, name: str, new: str) -> VaultEntry:
    source, _ = _look_up(tx, name, new)
    new_vaults.place(tx, registry.create(tx, new).vault_id)
    return registry.copy_rules(tx, source, new)


def _make(place: CopyPlace, entry: VaultEntry, file: Path, vault_id: str) -> RestingDatabase:
    with translate_machine_errors():
        restore_now(place.seat.connections, entry, file)
    return _make_own(file, vault_id, place.storage)


def _make_own(file: Path, vault_id: str, storage: StorageSettings) -> RestingDatabase:
    with translate_sqlite_errors(), closing(open_raw(file, storage, writer=True)) as raw:
        now = {"id": vault_id, "at": clock.now()}
        raw.execute("UPDATE vault_info SET value = :id WHERE key = 'vault_id'", now)
        raw.execute("UPDATE vault_info SET value = :at WHERE key = 'created_at'", now)
        page_size = int(raw.execute("PRAGMA page_size").fetchone()[0])
    return RestingDatabase(file, page_size)

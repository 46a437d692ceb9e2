"""``cluster export``: a vault, or all of them, out of the cluster into a data folder that one machine serves.

Each vault is copied as its log stands at that moment, and may be served meanwhile: for the last word of every vault
stop the servers first. A call that was killed is repeated, and finds the folder as it left it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ops.audit.chain_files import ChainFiles
from server.cluster import chain_moves, control_moves
from server.cluster.audit_chains import ClusterChains
from server.cluster.database import open_connections
from server.cluster.installation_files import InstallationFiles
from server.cluster.join import OnMoved
from server.cluster.new_vaults import make_new_vault
from server.cluster.vault_departure import DepartedVault, has_entries, move_out
from server.cluster_settings import ClusterSettings
from server.control_database import CONTROL_DB, prepare_control
from server.running_server import hold_stopped
from vaults import registry
from vaults.cluster.control.file_rows import FileRows
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.postgres import schema
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.errors import AlreadyExists, InvalidArgument
from vaults.files.permissions import make_private_folder
from vaults.registry import VaultEntry, folder_of
from vaults.settings import StorageSettings

UNFINISHED = ".exporting"
"""In a data folder that is being written: without it, and not empty, the folder is somebody's."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """``rows``: of control.db, 0 where one vault was exported. ``entries``: of the audit."""

    installation: str
    vaults: tuple[DepartedVault, ...]
    rows: int
    entries: int


@dataclass(frozen=True, slots=True)
class _Departure:
    """Both sides."""

    connections: Connections
    source: PostgresControl
    target: Database
    data: Path
    storage: StorageSettings
    installation: str


async def export_cluster(
    settings: ClusterSettings, storage: StorageSettings, into: Path, advance: OnMoved, vault: str | None = None
) -> ExportReport:
    """Write the whole installation, or one vault as an installation of its own, to a folder that is new, empty, or left
    by a call that was killed. Raises ``AlreadyExists`` for another folder, ``NotFound`` for a vault there is not, and
    as ``move_out``."""
    await asyncio.to_thread(_claim, into)
    with hold_stopped(into):
        async with _open_both(settings, storage, into) as departure:
            entries = await departure.source.read(registry.list_vaults)
            if vault is None:
                report = await _export_all(departure, entries, advance)
            else:
                report = await _export_one(departure, await departure.source.read(lambda tx: registry.get(tx, vault)))
        (into / UNFINISHED).unlink(missing_ok=True)
    return report


async def _export_all(departure: _Departure, entries: Sequence[VaultEntry], advance: OnMoved) -> ExportReport:
    gone: list[DepartedVault] = []
    for entry in entries:
        advance(len(gone), len(entries), f"vault {entry.name}")
        gone.append(await _move(departure, entry))
    advance(len(gone), len(entries), "audit")
    chain_entries = await _move_chains(departure)
    advance(len(gone), len(entries), "keys")
    files = InstallationFiles(FileRows(departure.connections), departure.data)
    await asyncio.to_thread(files.begin, is_known=False)
    advance(len(gone), len(entries), "control")
    await asyncio.to_thread(_lay_out_files, departure.connections, departure.data)
    tables = await control_moves.describe_control(departure.target)
    rows = await control_moves.copy_control(departure.source, departure.target, tables)
    return ExportReport(departure.installation, tuple(gone), rows, chain_entries)


async def _export_one(departure: _Departure, entry: VaultEntry) -> ExportReport:
    gone = await _move(departure, entry)

    def register(tx: Writer) -> None:
        if all(each.name != entry.name for each in registry.list_vaults(tx)):
            registry.create(tx, entry.name, vault_id=entry.vault_id)
        registry.copy_rules(tx, entry, entry.name)

    await departure.target.write(register)
    return ExportReport(await registry.instance_id(departure.target), (gone,), 0, 0)


async def _move(departure: _Departure, entry: VaultEntry) -> DepartedVault:
    folder = folder_of(departure.data, entry.name, None)
    if not await asyncio.to_thread(has_entries, departure.connections, entry):
        await make_new_vault(departure.source, departure.storage, entry, folder)  # nobody opened it yet
        return DepartedVault(entry.name, entry.vault_id, 0, "", "", 0)
    return await move_out(departure.connections, entry, folder, departure.storage)


async def _move_chains(departure: _Departure) -> int:
    source, target = ClusterChains(departure.connections), ChainFiles(departure.data, departure.storage)
    try:
        return await chain_moves.move_chains(source, target)
    finally:
        await asyncio.to_thread(source.close)


def _lay_out_files(connections: Connections, data: Path) -> None:
    InstallationFiles(FileRows(connections), data).begin(is_known=True)


def _claim(into: Path) -> None:
    if into.exists() and any(into.iterdir()) and not (into / UNFINISHED).exists():
        raise AlreadyExists(f"{into} holds something already", hint="name a new folder, or an empty one")
    make_private_folder(into)
    (into / UNFINISHED).touch()


@asynccontextmanager
async def _open_both(settings: ClusterSettings, storage: StorageSettings, data: Path) -> AsyncIterator[_Departure]:
    async with AsyncExitStack() as stack:
        installation = await asyncio.to_thread(_find_installation, settings)
        connections = await open_connections(stack, settings, installation)
        source = PostgresControl(connections)
        stack.push_async_callback(source.close)
        target = Database(data / CONTROL_DB, storage)
        stack.push_async_callback(target.close)
        await prepare_control(target, storage)
        yield _Departure(connections, source, target, data, storage, installation)


def _find_installation(settings: ClusterSettings) -> str:
    with schema.single_connection(DatabaseLogin(settings.read_url(), pool_size=1)) as connection:
        found = schema.installation_of(connection)
    if found is None:
        raise InvalidArgument(schema.SETTING, "has no tables of strongroom", hint="run: strongroom cluster init")
    return found

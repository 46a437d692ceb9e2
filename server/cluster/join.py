"""``cluster join``: an installation of one machine becomes the one that several servers serve.

Vaults move one after the other, each as a copy. While a server runs over the data folder, that is all: copies are made
beside it, and a second call, once it is stopped, moves what has changed since, which is little. Then follow the chains
of the audit, keys, secrets and licence, and in one transaction the rows of control.db: with these the installation is
the cluster's. Before them the data folder is marked, so that one machine alone never serves it again. A call that was
killed at any point is repeated; what is there already is compared, and not moved again. Nothing in the data folder is
changed but that mark.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ops.audit.chain_files import ChainFiles
from ops.vault_life import folder_moves
from server.cluster import chain_moves, control_moves, proofs
from server.cluster.audit_chains import ClusterChains
from server.cluster.cluster_seat import ClusterSeat
from server.cluster.database import open_connections
from server.cluster.installation_adoption import adopt_installation
from server.cluster.installation_files import InstallationFiles
from server.cluster.refusals import refuse_for_cluster
from server.cluster.release import release
from server.cluster.vault_arrival import ArrivedVault, move_in
from server.control_database import CONTROL_DB, prepare_control
from server.running_server import hold_stopped
from server.settings import Settings
from vaults import registry
from vaults.cluster.cluster_observer import NullClusterObserver
from vaults.cluster.control.file_rows import FileRows
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.membership import Membership, ServerCard
from vaults.db.connection import Database
from vaults.errors import VaultUnavailable
from vaults.registry import VaultEntry

OnMoved = Callable[[int, int, str], None]
"""Called with the number of vaults that were moved, of how many, and what is done next."""


@dataclass(frozen=True, slots=True)
class JoinReport:
    """``is_joined``: several servers may serve it now; False: a server runs over the data folder, and only copies were
    made. ``was_joined``: it was joined before, and nothing was moved. ``left_out``: vaults that were archived and
    serve a folder in place. ``rows``: of control.db. ``entries``: of the audit."""

    installation: str
    vaults: tuple[ArrivedVault, ...]
    is_joined: bool
    was_joined: bool = False
    left_out: tuple[str, ...] = ()
    rows: int = 0
    entries: int = 0


@dataclass(frozen=True, slots=True)
class _Crossing:
    """Both sides."""

    settings: Settings
    data: Path
    source: Database
    target: PostgresControl
    seat: ClusterSeat
    installation: str


async def join_cluster(settings: Settings, data: Path, advance: OnMoved) -> JoinReport:
    """Move the installation of a data folder into the database of ``settings.cluster``. Raises ``InvalidArgument`` for
    what a cluster cannot have, ``Conflict`` where the database holds vaults of another one, ``LogUnavailable``,
    ``StorageFull``, ``VaultUnavailable``, ``VaultQuarantined``."""
    with _hold_if_stopped(data) as is_stopped:
        async with _open_both(settings, data) as crossing:
            return await _join(crossing, advance, is_stopped=is_stopped)


async def _join(crossing: _Crossing, advance: OnMoved, *, is_stopped: bool) -> JoinReport:
    settings, data = crossing.settings, crossing.data
    if await crossing.target.read(registry.joined_at) is not None:
        await crossing.source.write(registry.note_joined)
        return JoinReport(crossing.installation, (), is_joined=True, was_joined=True)
    if is_stopped:
        await folder_moves.finish_all(crossing.source, data)
    entries = await crossing.source.read(registry.list_vaults)
    refuse_for_cluster(settings, entries)
    vaults = await _move_vaults(crossing, [each for each in entries if each.path is None], advance)
    left_out = tuple(each.name for each in entries if each.path is not None)
    if not is_stopped:
        return JoinReport(crossing.installation, vaults, is_joined=False, left_out=left_out)
    advance(len(vaults), len(vaults), "proving")
    for vault in vaults:
        await proofs.prove_stored(crossing.seat.connections, vault, data, settings.storage)
    advance(len(vaults), len(vaults), "audit")
    chain_entries = await _move_chains(crossing)
    advance(len(vaults), len(vaults), "keys")
    await asyncio.to_thread(InstallationFiles(FileRows(crossing.seat.connections), data).keep_all)
    advance(len(vaults), len(vaults), "control")
    await asyncio.to_thread(InstallationFiles(FileRows(crossing.seat.connections), data).keep_all)
    tables = await control_moves.describe_control(crossing.source)
    await crossing.source.write(registry.note_joined)
    rows = await control_moves.move_control(crossing.source, crossing.target, tables)
    return JoinReport(
        crossing.installation, vaults, is_joined=True, left_out=left_out, rows=rows, entries=chain_entries
    )


@contextmanager
def _hold_if_stopped(data: Path) -> Iterator[bool]:
    """Whether no server runs over the data folder; then none can start as long as this lasts."""
    with ExitStack() as held:
        try:
            held.enter_context(hold_stopped(data))
            is_stopped = True
        except VaultUnavailable:
            is_stopped = False
        yield is_stopped


async def _move_vaults(
    crossing: _Crossing, entries: Sequence[VaultEntry], advance: OnMoved
) -> tuple[ArrivedVault, ...]:
    arrived: list[ArrivedVault] = []
    for entry in entries:
        advance(len(arrived), len(entries), f"vault {entry.name}")
        arrived.append(await move_in(crossing.seat, entry, crossing.data, crossing.settings.storage))
    return tuple(arrived)


async def _move_chains(crossing: _Crossing) -> int:
    source = ChainFiles(crossing.data, crossing.settings.storage)
    target = ClusterChains(crossing.seat.connections)
    try:
        return await chain_moves.move_chains(source, target)
    finally:
        await asyncio.to_thread(target.close)


@asynccontextmanager
async def _open_both(settings: Settings, data: Path) -> AsyncIterator[_Crossing]:
    async with AsyncExitStack() as stack:
        source = Database(data / CONTROL_DB, settings.storage)
        stack.push_async_callback(source.close)
        await prepare_control(source, settings.storage)
        installation = await registry.instance_id(source)
        await asyncio.to_thread(adopt_installation, settings.cluster, installation)
        connections = await open_connections(stack, settings.cluster, installation)
        card = ServerCard("join", release(), "command")
        membership = Membership(connections, card, settings.cluster.lease_s, NullClusterObserver())
        await membership.join()
        stack.push_async_callback(membership.leave)
        target = PostgresControl(connections)
        stack.push_async_callback(target.close)
        own = membership.require_seat()
        seat = ClusterSeat(connections, own.id, own.lease)
        yield _Crossing(settings, data, source, target, seat, installation)

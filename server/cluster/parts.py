"""What this process has as one of several servers."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from server.background_plan import BackgroundPlan
from server.cluster.cluster_seat import ClusterSeat
from server.cluster.note_folders import lay_out_folder
from server.cluster.peer_door import PeerDoor, open_peer_door
from server.cluster.refusals import refuse_for_cluster
from server.cluster.release import begin_schema, known_schema, release
from server.cluster_settings import ClusterSettings
from server.settings import Settings
from vaults.cluster.base_rounds import BaseRounds
from vaults.cluster.cluster_observer import ClusterObserver
from vaults.cluster.hand_overs import HandOvers
from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.load_moves import AVERAGES_A_MOVE, LoadMoves, LoadPolicy
from vaults.cluster.local_copies import COPIES_FOLDER
from vaults.cluster.membership import Membership, ServerCard
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.large_vaults import LargeVaults
from vaults.cluster.server_load import LoadMeter, usable_cores
from vaults.cluster.standby_copies import STANDBY_FOLDER, StandbyCopies
from vaults.cluster.standby_rounds import StandbyRounds
from vaults.db.connection import Database
from vaults.disk_reserve import MB
from vaults.errors import InvalidArgument
from vaults.files.permissions import FILE_MODE, make_private_folder
from vaults.settings import StorageSettings

if TYPE_CHECKING:  # what vaults are made of is most of this program, and a start opens none
    from vaults.pool import VaultPool
    from vaults.vault import SharedResources

LOCK_FILE = ".lock"
"""In the folder of copies: held by the server whose they are."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """``door``: where others reach it; None for a process that takes no requests."""

    connections: Connections
    membership: Membership
    held: HeldVaults
    hand_overs: HandOvers
    load_moves: LoadMoves
    door: PeerDoor | None

    def share(self, shared: SharedResources) -> SharedResources:
        """What vaults share that are held for the cluster: their files are a cache, and their log is the vault."""
        return replace(
            shared,
            storage=to_cache(shared.storage),
            commit_log=self.held.make_log,
            hosting=self.held,
            find_folder=None,
            before_migration=self._refuse_early_migration,
        )

    def serve(self, stack: AsyncExitStack, pool: VaultPool) -> None:
        """From now on ``pool`` opens what is held here. ``stack`` ends what is done beside calls, before it closes the
        pool."""
        self.held.opened = pool.departures
        stack.push_async_callback(self.hand_overs.close)
        stack.push_async_callback(self.load_moves.close)
        stack.push_async_callback(BaseRounds(self.held).close)

    def seat(self) -> ClusterSeat:
        """This process, as those know it that store vaults whole. Raises ``LogUnavailable`` while it is no server."""
        seat = self.membership.require_seat()
        return ClusterSeat(self.connections, seat.id, seat.lease)

    async def drain(self, within_s: float | None = None) -> None:
        """Have the other servers serve every vault; what is not handed over in time is given back by the end of this
        server. Returns once all of them have heard of it, so that nobody sends calls here any more. Again for
        nothing."""
        await self.hand_overs.drain(within_s)
        await self.membership.be_heard()

    async def _refuse_early_migration(self, db: Database, _done: int) -> None:
        self.hand_overs.refuse_early_migration(db.path.parent.name, known_schema())
        await begin_schema(self.connections)


async def open_cluster(
    stack: AsyncExitStack,
    settings: Settings,
    data: Path,
    connections: Connections,
    observer: ClusterObserver,
    background: BackgroundPlan,
) -> Cluster:
    """Join; ``stack`` leaves, with every vault closed by then. A process that only runs a command takes no
    requests and is nobody's preferred server. Raises ``InvalidArgument``, ``LogUnavailable``."""
    cluster = settings.cluster
    refuse_for_cluster(settings)
    door = await open_peer_door(stack, cluster, connections) if background.rounds else None
    root = await own_folder(stack, data, shared=door is None)
    membership = Membership(connections, _card_of(cluster, door), cluster.lease_s, observer)
    held = HeldVaults(membership, connections, root, to_cache(settings.storage), observer)
    held.after_restore.append(lay_out_folder)
    stack.callback(held.close)
    await membership.join()
    stack.push_async_callback(membership.leave)
    if door is not None and cluster.standby_above_mb:
        large = LargeVaults(connections, cluster.standby_above_mb)
        copies = StandbyCopies(root / STANDBY_FOLDER)
        stack.push_async_callback(StandbyRounds(held, copies, large, settings.storage.reserve_mb).close)
    hand_overs = HandOvers(held)
    load_moves = LoadMoves(held, hand_overs, _meter(settings), LoadPolicy(cluster.busy_at, cluster.move_every_s))
    return Cluster(connections, membership, held, hand_overs, load_moves, door)


def _meter(settings: Settings) -> LoadMeter:
    budget = settings.storage.memory_budget_mb * MB
    return LoadMeter(settings.cluster.move_every_s / AVERAGES_A_MOVE, budget, usable_cores())


def to_cache(storage: StorageSettings) -> StorageSettings:
    """Settings of databases whose truth is elsewhere: what a crash leaves is compared with the log, or dropped."""
    return storage.model_copy(update={"synchronous": "off"})


def _card_of(settings: ClusterSettings, door: PeerDoor | None) -> ServerCard:
    if door is None:
        return ServerCard(settings.server_name, release(), "command")
    said = door.address, door.identity.certificate, settings.weight
    return ServerCard(settings.server_name, release(), "serving", *said)


async def own_folder(stack: AsyncExitStack, data: Path, *, shared: bool) -> Path:
    """Where this process lays vaults out: alone in the data folder, or, where a server has that, in a folder that goes
    with the process. Raises ``InvalidArgument`` where another server has it."""
    return await asyncio.to_thread(_temporary_folder if shared else _data_folder, stack, data / COPIES_FOLDER)


def _data_folder(stack: AsyncExitStack, root: Path) -> Path:
    make_private_folder(root)
    lock = os.open(root / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    stack.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidArgument("data", "is another server's: each needs a folder of its own") from None
    _clear_copies(root)  # of a process that was killed: what it held is restored, and no file of it is needed
    stack.push_async_callback(asyncio.to_thread, _clear_copies, root)
    return root


def _clear_copies(root: Path) -> None:
    """Where a server does not come back, nothing of its vaults stays on its disk."""
    for left in root.iterdir():
        if left.name != LOCK_FILE:
            shutil.rmtree(left, ignore_errors=True)


def _temporary_folder(stack: AsyncExitStack, root: Path) -> Path:
    make_private_folder(root.parent)
    folder = Path(tempfile.mkdtemp(prefix=".command-", dir=root.parent))
    stack.callback(_remove, folder)
    return folder


def _remove(folder: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(folder)

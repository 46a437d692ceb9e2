"""The vaults this server holds: taken when somebody wants them here, kept while they are closed for idleness, dropped
with their files once they are lost or handed over.

A vault is held from ``take`` to ``drop``, whether or not it is open: opened again, its files are compared with what the
log ended with, and not restored. Each change is made by one at a time, for each vault.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from vaults.cluster import local_copies
from vaults.cluster.cluster_observer import ClusterObserver, TakenFiles
from vaults.cluster.failures import LogDamaged, LogUnavailable
from vaults.cluster.local_copies import LaidOut
from vaults.cluster.log_replay import RestoredLog
from vaults.cluster.measured_log import MeasuredLog
from vaults.cluster.membership import Membership, ServerSeat
from vaults.cluster.open_vaults import OpenVaults
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.rendezvous import prefer
from vaults.cluster.server_watch import ServerBeat
from vaults.cluster.standby_copies import StandbyCopies
from vaults.cluster.vault_locations import VaultLocations
from vaults.cluster.vault_log import Placement
from vaults.cluster.vault_requests import wait_for_hand_over
from vaults.cluster.vault_turns import VaultTurns
from vaults.context import begin_apart, run_in, run_to_completion
from vaults.db.connection import Database
from vaults.errors import NotFound, StrongroomError, VaultQuarantined, VaultUnavailable
from vaults.registry import DATABASE_FILE, VaultEntry
from vaults.settings import StorageSettings
from vaults.vault_hosting import VaultElsewhere

RESTORES = 4
"""Vaults that are restored at a time."""

CLOSE_WAIT_S = 10.0
"""Seconds a call waits for a vault that is being closed here, until it is told to call again."""

DAMAGED_AGAIN_S = 60.0
"""Seconds after a damaged copy was dropped in which the next one of the same vault is not."""

_log = logging.getLogger(__name__)

AfterRestore = Callable[[Path, Database], Awaitable[object]]
MakeNew = Callable[[VaultEntry, Path], Awaitable[bool]]


async def _make_nothing(_entry: VaultEntry, _folder: Path) -> bool:
    return False


@dataclass(slots=True)
class _Holding:
    """One held vault. ``start``: where its log stands that its files are as of; None: it has not begun."""

    seat: ServerSeat
    placement: Placement
    start: RestoredLog | None
    folder: Path
    is_furnished: bool = False
    """Whether its folder holds what is laid out from its database."""
    pages: PageLog | None = None
    """Of the vault while it is open."""
    is_lost: bool = False
    put_down: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while nothing of it is open."""


class HeldVaults:
    """Implements ``VaultHosting``. On the event loop of the process; ``close`` at the end."""

    def __init__(
        self,
        membership: Membership,
        connections: Connections,
        root: Path,
        storage: StorageSettings,
        observer: ClusterObserver,
    ) -> None:
        self.membership = membership
        self.placements = Placements(connections)
        self.log = MeasuredLog(PostgresVaultLog(connections), observer)
        self.observer = observer
        self.opened: OpenVaults | None = None
        """Who has the held vaults open; set once, before any is taken."""
        self.standby: StandbyCopies | None = None
        """Copies of vaults that others hold, which are gone on with where they are taken here."""
        self.after_restore: list[AfterRestore] = []
        """Awaited with the folder of each vault that was restored, and its database, before anybody is answered."""
        self.make_new: MakeNew = _make_nothing
        """Makes the files of a vault that is new; False for one that is not, and should have a log."""
        self.on_gone: list[Callable[[str], None]] = []
        """Called with the id of each vault that was handed over or lost."""
        self.standbys: Mapping[str, str | None] = {}
        """Of the large vaults held here the servers that have copies of them, as last heard."""
        self.pins: Mapping[str, str] = {}
        """Of every vault that belongs to a server whatever its hash says the name of that one, as last heard."""
        self.moved: Mapping[str, str] = {}
        """Of those the ones that do because another server was busy, each with the id of its own."""
        self._root = root
        self._storage = storage
        self._held: dict[str, _Holding] = {}
        self._dropped_damaged: dict[str, float] = {}
        self._dropping: set[asyncio.Task[None]] = set()
        self._turns = VaultTurns()
        self._kept = VaultTurns()
        self._locations = VaultLocations(membership, self.placements, self)
        self._restores = asyncio.Semaphore(RESTORES)
        self._threads = ThreadPoolExecutor(RESTORES, thread_name_prefix="restore")
        membership.on_removed.append(self._lose_all)

    def folder_of(self, entry: VaultEntry) -> Path:
        """Where a vault is laid out while this server holds it; whatever it is called."""
        return self._root / entry.vault_id

    def is_here(self, vault_id: str) -> bool:
        """Whether this server serves it."""
        held = self._held.get(vault_id)
        return held is not None and not held.is_lost and not self._turns.is_leaving(vault_id)

    def is_preferred(self, vault_id: str) -> bool:
        """Whether this server is the one to take it, where nobody has it."""
        target = self.target_of(vault_id)
        return target is not None and target.id == self.membership.id

    def target_of(self, vault_id: str) -> ServerBeat | None:
        """The server that is to have it; None where none serves."""
        return prefer(vault_id, self.membership.candidates, self.pins.get(vault_id))

    def is_leaving(self, vault_id: str) -> bool:
        """Whether it is being handed over."""
        return self._turns.is_leaving(vault_id)

    @property
    def count(self) -> int:
        """How many vaults this server holds."""
        return len(self._held)

    def ids(self) -> list[str]:
        """The vaults this server holds."""
        return list(self._held)

    def pages_of(self, vault_id: str) -> PageLog | None:
        """The log of a vault that is open."""
        held = self._held.get(vault_id)
        return None if held is None else held.pages

    async def locate(self, entry: VaultEntry, *, forwarded: bool = False) -> ServerBeat | None:
        """``VaultLocations.locate``: who serves it, or is to; None: this server."""
        return await self._locations.locate(entry.vault_id, forwarded=forwarded)

    def forget_location(self, vault_id: str) -> None:
        """The server that ``locate`` named could not be reached, or does not have it."""
        self._locations.forget(vault_id)

    async def wait_for_others(self, at_most_s: float) -> None:
        """``VaultLocations.wait_for_others``."""
        await self._locations.wait_for_others(at_most_s)

    async def ask_for(self, entry: VaultEntry) -> None:
        """Return once the vault is free for this server alone. Raises ``VaultUnavailable``, ``LogUnavailable``,
        ``NotFound``."""
        if not self.is_here(entry.vault_id):
            await wait_for_hand_over(self.placements, entry.vault_id, self.membership.require_seat().id)

    async def take(self, entry: VaultEntry, folder: Path) -> None:
        """``VaultHosting``'s. Raises ``VaultElsewhere``, ``LogUnavailable``, ``Fenced``, ``LogDamaged``, and
        ``VaultQuarantined`` for a vault that the cluster does not have."""
        await run_to_completion(self._take(entry, folder))

    async def _take(self, entry: VaultEntry, folder: Path) -> None:
        vault, began = entry.vault_id, time.monotonic()
        async with self._turns.of(vault):
            held = await self._settled(vault)
            files: TakenFiles = "kept"
            if held is None:
                self._refuse_while_draining(vault)
                held, files = await self._acquire(entry, folder)
                self._held[vault] = held
                self.observer.on_held(len(self._held))
            held.put_down.clear()
        self.observer.on_taken(time.monotonic() - began, files)

    async def _settled(self, vault: str) -> _Holding | None:
        """The vault as it is held, with nothing of it open."""
        held = self._held.get(vault)
        if held is None:
            return None
        try:
            async with asyncio.timeout(CLOSE_WAIT_S):
                await held.put_down.wait()
        except TimeoutError:
            raise VaultUnavailable("the vault is being closed", hint="call again in a few seconds") from None
        return self._held.get(vault)

    async def _acquire(self, entry: VaultEntry, folder: Path) -> tuple[_Holding, TakenFiles]:
        seat = self.membership.require_seat()
        placement = await self._take_placement(entry.vault_id, seat)
        try:
            async with self._restores:
                database = folder / DATABASE_FILE
                laid_out = await run_in(self._threads, self._lay_out, placement, database)
            if laid_out.start is None and (placement.head or not await self.make_new(entry, folder)):
                raise VaultQuarantined(f"the files of vault {entry.name} are missing", reason="missing")
            if self.membership.seat is not seat:
                raise LogUnavailable("this server was taken for dead while it took the vault")
        except BaseException:
            await self._release(placement)
            raise
        return _Holding(seat, placement, laid_out.start, folder), laid_out.files

    def _lay_out(self, placement: Placement, database: Path) -> LaidOut:
        standby = None if self.standby is None else self.standby.claim(placement.vault)
        try:
            return local_copies.lay_out(self.log, placement, database, standby)
        except LogDamaged as failure:  # not tried again with each call
            raise VaultQuarantined(failure.message, hint=failure.hint, reason="damaged", **failure.details) from failure

    async def _take_placement(self, vault: str, seat: ServerSeat) -> Placement:
        placement = await asyncio.to_thread(self.placements.take, vault, seat.id)
        if placement is None and self.membership.state == "command":
            await wait_for_hand_over(self.placements, vault, seat.id)
            placement = await asyncio.to_thread(self.placements.take, vault, seat.id)
        if placement is not None:
            return placement
        try:
            holder = await asyncio.to_thread(self.placements.holder, vault)
        except NotFound:
            raise VaultQuarantined("the cluster does not have the files of this vault", reason="missing") from None
        raise VaultElsewhere(holder.server or holder.wanted, holder.address)

    def _refuse_while_draining(self, vault: str) -> None:
        if self.membership.state == "draining":
            target = self.target_of(vault)
            if target is not None:
                raise VaultElsewhere(target.id, target.address)

    async def furnish(self, entry: VaultEntry, folder: Path, db: Database) -> None:
        """``VaultHosting``'s: by a connection that calls use later, as each reads the whole schema once."""
        held = self._held[entry.vault_id]
        if not held.is_furnished:
            for hook in self.after_restore:
                await hook(folder, db)
            held.is_furnished = True

    def make_log(self, entry: VaultEntry, database: Path) -> PageLog:
        """``SharedResources.commit_log``: of a vault that was taken."""
        held = self._held[entry.vault_id]
        vault = HeldVault(held.placement, self.log, held.seat.lease)
        loop = asyncio.get_running_loop()

        def tell(_failure: StrongroomError) -> None:
            loop.call_soon_threadsafe(self._lose, entry.vault_id, held)

        held.pages = PageLog(database, self._storage, vault, held.start, tell)
        if held.start is not None:  # what is known of the file is the log's from here on, which writes to it
            held.start = replace(held.start, written=None)
        return held.pages

    async def put_down(self, entry: VaultEntry, folder: Path) -> None:
        """``VaultHosting``'s. The vault stays this server's, unless it was lost."""
        held = self._held.get(entry.vault_id)
        if held is None or held.put_down.is_set() or held.folder != folder:
            return
        pages, held.pages = held.pages, None
        closed = (held.placement, held.start) if pages is None else pages.closed
        if closed is None or held.is_lost:
            await asyncio.to_thread(local_copies.clear, held.folder)
            self._held.pop(entry.vault_id, None)
            self.observer.on_held(len(self._held))
        else:
            held.placement, held.start = closed
        held.put_down.set()

    def drop_damaged(self, vault_id: str, found: VaultQuarantined) -> bool:
        """``VaultHosting``'s. Where what was restored a moment ago is damaged too, the log holds the damage."""
        last = self._dropped_damaged.get(vault_id, -math.inf)
        if found.details.get("reason") not in ("damaged", "missing") or time.monotonic() < last + DAMAGED_AGAIN_S:
            return False
        self._dropped_damaged[vault_id] = time.monotonic()
        _log.error("the copy of vault %s in %s was damaged: it is made anew from the log", vault_id, self._root)
        held = self._held.get(vault_id)
        if held is not None:  # else it was dropped when it was closed
            self._lose(vault_id, held)
        return True

    async def hand_over(self, vault_id: str, within_s: float, to: str | None = None) -> bool:
        """Close a vault once the calls that have it have ended, at the latest after ``within_s``, and give it back; to
        the server ``to`` alone, where one is named. Calls that come meanwhile wait, and find it elsewhere. Whether it
        was this server's until then."""
        with self._turns.leaving(vault_id):
            return await run_to_completion(self._hand_over(vault_id, within_s, to))

    def keep(self, vault_id: str) -> AbstractAsyncContextManager[None]:
        """It is not handed over for as long as the block lasts, though nothing of it is open. Waits for a hand-over
        that has begun."""
        return self._kept.of(vault_id)

    async def _hand_over(self, vault_id: str, within_s: float, to: str | None) -> bool:
        async with self._kept.of(vault_id), self._turns.of(vault_id):
            if vault_id not in self._held:
                return False
            if self.opened is not None:
                await self.opened.vacate(vault_id, within_s)
            held = await self._settled(vault_id)
            if held is None:
                return False
            if to is not None:
                with suppress(StrongroomError):  # then whoever is asked next takes it
                    await asyncio.to_thread(self.placements.want, vault_id, to)
            self._held.pop(vault_id, None)
            await asyncio.to_thread(local_copies.clear, held.folder)
            await self._release(held.placement)
        self.observer.on_handed_over()
        self._tell_gone(vault_id)
        return True

    async def forget(self, vault_id: str) -> None:
        """Drop the copy of a vault that the cluster does not have any more, and that is closed."""
        async with self._turns.of(vault_id):
            held = await self._settled(vault_id)
            if held is not None:
                self._held.pop(vault_id, None)
                await asyncio.to_thread(local_copies.clear, held.folder)
        self._tell_gone(vault_id)

    async def _release(self, placement: Placement) -> None:
        with suppress(StrongroomError):  # it stays this server's, which takes it anew where it is asked for
            await asyncio.to_thread(self.placements.release, placement)

    def _lose_all(self) -> None:
        for vault_id, held in list(self._held.items()):
            self._lose(vault_id, held)

    def _lose(self, vault_id: str, held: _Holding) -> None:
        if held.is_lost:
            return
        held.is_lost = True
        self.observer.on_vault_lost()
        if held.put_down.is_set():
            self._held.pop(vault_id, None)
            self._dropping.add(task := begin_apart(self._drop(vault_id, held.folder), "drop-copy"))
            task.add_done_callback(self._dropping.discard)
        elif self.opened is not None:
            self.opened.lose(vault_id)
        self._tell_gone(vault_id)

    async def _drop(self, vault_id: str, folder: Path) -> None:
        """Leave nothing of a vault that was closed when it was lost: it may be deleted elsewhere."""
        async with self._turns.of(vault_id):
            if vault_id not in self._held:
                await asyncio.to_thread(local_copies.clear, folder)

    def _tell_gone(self, vault_id: str) -> None:
        self.observer.on_held(len(self._held))
        for listener in self.on_gone:
            listener(vault_id)

    def close(self) -> None:
        """With every vault closed."""
        self._threads.shutdown()

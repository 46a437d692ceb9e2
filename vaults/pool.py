"""All open vaults of a process: lease, least-recently-used close, memory budget, quarantine."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.background_defects import BackgroundDefects, TaskName
from vaults.context import run_in
from vaults.damage_inspection import DamageInspector
from vaults.disk_reserve import DiskReserve
from vaults.errors import Overloaded, StrongroomError, VaultQuarantined, VaultUnavailable
from vaults.observer import Observer
from vaults.pool_departures import PoolDepartures
from vaults.pool_inspections import PoolInspections
from vaults.pool_rounds import PoolRounds
from vaults.pool_slots import QuarantinedVault, Slot, close_slot, hand_over, is_open
from vaults.registry import VaultEntry, folder_of
from vaults.settings import StorageSettings
from vaults.vault_gate import VaultGate
from vaults.vault_hosting import LOCAL_HOSTING

if TYPE_CHECKING:  # what vaults are made of is most of this program, and a start opens none
    from vaults.vault import SharedResources, Vault

QUARANTINE_S = 15.0
"""Seconds after which a quarantined vault is tried again, so that a repair needs no restart."""

ROOM_WAIT_S = 1.0
"""Seconds a call waits for a free slot when every open vault is in use."""

GATE_LOOK_S = 0.5
"""Seconds between two looks at whether somebody wants the folder of an open vault."""

MAX_ADDITIONAL_LEASES = 4
"""Max vaults leased at a time, in the whole process, by calls that hold one already."""


@dataclass(frozen=True, slots=True)
class KnownVaults:
    """What a pool knows of vaults that are not open. ``entries`` lists those it visits by itself; ``announced_work``
    says when a command last left work in one, by vault id; ``place`` is where their files lie, None: in the data
    folder, under their names."""

    entries: Callable[[], Sequence[VaultEntry]] = tuple
    announced_work: Callable[[], Mapping[str, str]] = dict
    place: Callable[[VaultEntry], Path] | None = None


class VaultPool:
    """Opens, shares and closes vaults; nothing else makes a ``Vault``. ``share`` returns what they share, always the
    same, and is first called when a vault is opened."""

    def __init__(
        self,
        data: Path,
        storage: StorageSettings,
        observer: Observer,
        share: Callable[[], SharedResources],
        known: KnownVaults | None = None,
    ) -> None:
        known = known or KnownVaults()
        self._data = data
        self._place = known.place
        self._storage = storage
        self._observer = observer
        self._share = share
        self.defects = BackgroundDefects(observer)
        self.registered = known.entries
        # By vault id: a name may have been another vault's a moment ago.
        self.slots: dict[str, Slot] = {}
        self._quarantine: dict[str, QuarantinedVault] = {}
        self._reserves = {data: DiskReserve(data, storage)}
        self.rounds = PoolRounds(self, storage, observer, share, known.announced_work)
        self.inspections = PoolInspections(self, DamageInspector(storage), share)
        self.departures = PoolDepartures(self)
        self._background: tuple[asyncio.Task[None], ...] = ()
        self._gate_watch: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self.is_closed = False
        self.beside = max(1, min(MAX_ADDITIONAL_LEASES, storage.open_vaults // 4))
        self._beside = asyncio.Semaphore(self.beside)
        self._arrivals = asyncio.Lock()  # its holder gets the next free slot; the others queue behind
        self._freed = asyncio.Event()

    def without_background_work(self) -> VaultPool:
        """The same vaults for a caller who only looks: no background work runs in them. Close this pool first."""
        places = KnownVaults(place=self._place)
        return VaultPool(self._data, self._storage, self._observer, lambda: _quiet(self._share()), places)

    @asynccontextmanager
    async def open_apart(self, entry: VaultEntry, folder: Path) -> AsyncIterator[Vault]:
        """Open the files in ``folder`` as this vault's, though nobody is served from there: one that is being restored
        is looked at. No background work runs in it, and no copy is kept of an older version: there is the backup. The
        caller has the folder alone. Raises as ``lease``."""
        from vaults.vault import Vault, keep_no_log

        shared = replace(
            _quiet(self._share()),
            before_migration=None,
            commit_log=keep_no_log,
            hosting=LOCAL_HOSTING,
            keeps_note_files=False,
        )
        vault = Vault(entry, folder, shared, self._reserve_of(entry))
        await vault.open()
        try:
            yield vault
        finally:
            await vault.close()

    def folder_of(self, entry: VaultEntry) -> Path:
        """Where a vault's state lies: in the data folder, or in ``.strongroom`` of a folder served in place."""
        return folder_of(self._data, entry.name, entry.path) if self._place is None else self._place(entry)

    def _reserve_of(self, entry: VaultEntry) -> DiskReserve:
        folder = self.folder_of(entry) if entry.path else self._data
        return self._reserves.setdefault(folder, DiskReserve(folder, self._storage))

    @property
    def open_count(self) -> int:
        return len(self.slots)

    @property
    def quarantined(self) -> dict[str, VaultQuarantined]:
        """Vaults that could not be opened, with the reason."""
        return {each.name: each.failure for each in self._quarantine.values()}

    def start(self) -> None:
        """Begin the background rounds; ``close`` ends them."""
        self._background = (asyncio.create_task(self.rounds.run()), asyncio.create_task(self.inspections.run()))

    @asynccontextmanager
    async def lease(self, entry: VaultEntry) -> AsyncIterator[Vault]:
        """Hold a vault open. Raises ``VaultQuarantined``, ``VaultUnavailable``, or ``Overloaded`` when every open
        vault stays in use for ``ROOM_WAIT_S`` and no more may be opened."""
        slot = await self._slot(entry)
        slot.leases += 1
        slot.calls = number = slot.calls + 1
        slot.under_way[number] = time.monotonic()
        slot.is_resting = False
        try:
            vault = await asyncio.shield(slot.opening)
            vault.entry = entry  # its write rules may have changed, or its name
            slot.name = entry.name
            yield vault
        except VaultQuarantined as failure:
            told = self.put_aside(entry, slot, failure)
            if told is failure:
                raise
            raise told from failure
        finally:
            slot.used = time.monotonic()
            del slot.under_way[number]
            self.end_lease(slot)

    def end_lease(self, slot: Slot) -> None:
        """One call fewer has it."""
        slot.leases -= 1
        if slot.unused is not None and not slot.leases:
            slot.unused.set()
        self._freed.set()

    @asynccontextmanager
    async def lease_additional(self, entry: VaultEntry) -> AsyncIterator[Vault]:
        """``lease`` for a call that holds another vault: at most ``beside`` of these at a time in the process, so
        that no call over many vaults takes the places of everybody else."""
        async with self._beside, self.lease(entry) as vault:
            yield vault

    def has_room(self, entry: VaultEntry) -> bool:
        """Whether a lease would get a slot now without waiting."""
        return entry.vault_id in self.slots or len(self.slots) < self._storage.open_vaults or bool(self.idle())

    def put_aside(self, entry: VaultEntry, slot: Slot, failure: VaultQuarantined) -> StrongroomError:
        """Damage was met in an open vault: have it laid out anew where that can be, else refuse it. What whoever met it
        is to be told."""
        if self.slots.get(entry.vault_id) is not slot:  # another call met it as well
            return failure if entry.vault_id in self._quarantine else _laid_out_anew()
        if self._share().hosting.drop_damaged(entry.vault_id, failure):
            self._report()
            return _laid_out_anew()
        self.quarantine_vault(entry, failure)
        return failure

    def quarantine_vault(self, entry: VaultEntry, failure: VaultQuarantined) -> None:
        """Refuse a vault for ``QUARANTINE_S``. The others are served."""
        self._quarantine[entry.vault_id] = QuarantinedVault(entry.name, time.monotonic() + QUARANTINE_S, failure)
        if slot := self.slots.pop(entry.vault_id, None):
            self.close_in_background(slot)
        self._report()

    def close_in_background(self, slot: Slot) -> asyncio.Task[None]:
        """Close a slot already taken out of ``slots``, even if the caller is cancelled."""
        return self.see_to_the_end(close_slot(slot))

    def see_to_the_end(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Begin to close a slot already taken out of ``slots``; ``close`` waits for it."""
        closing = asyncio.create_task(work)
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._freed.set()
        return closing

    async def close_vault(self, name: str) -> None:
        """Close one vault now (it is archived, restored or moved); calls in flight are told so."""
        for vault_id in [vault_id for vault_id, slot in self.slots.items() if slot.name == name]:
            if slot := self.slots.pop(vault_id, None):
                await asyncio.shield(self.close_in_background(slot))
        for vault_id in [vault_id for vault_id, each in self._quarantine.items() if each.name == name]:
            del self._quarantine[vault_id]

    async def _watch_gates(self) -> None:
        """Close every vault whose folder somebody wants alone."""
        while self.slots:
            await asyncio.sleep(GATE_LOOK_S)
            for vault_id, slot in list(self.slots.items()):
                if slot.gate.is_wanted():
                    del self.slots[vault_id]
                    self.see_to_the_end(hand_over(slot))
                    self._report()

    async def part(self) -> None:
        """Pause the sessions this process serves, because it ends. Call before ``close``."""
        opened = [slot.opening.result() for slot in self.slots.values() if is_open(slot)]
        await asyncio.gather(*(vault.activity_log.pause_served() for vault in opened))

    async def close(self) -> None:
        """Stop the rounds and close every vault."""
        self.is_closed = True
        self.inspections.close()
        tasks = [*self._background, *([self._gate_watch] if self._gate_watch else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        slots, self.slots = list(self.slots.values()), {}
        await asyncio.gather(*(close_slot(slot) for slot in slots), *self._closing, return_exceptions=True)

    async def _slot(self, entry: VaultEntry) -> Slot:
        refused = self._quarantine.get(entry.vault_id)
        if refused is not None and refused.name == entry.name and time.monotonic() < refused.until:
            raise refused.failure
        slot = self.slots.get(entry.vault_id)
        if slot is None:
            await self._make_room(entry.vault_id)
            slot = self.slots.get(entry.vault_id)
        if slot is None:
            gate = VaultGate(self.folder_of(entry))
            slot = Slot(entry.name, asyncio.create_task(self._open(entry, gate)), gate)
            self.slots[entry.vault_id] = slot
            self._observer.on_open_vaults(len(self.slots))
            if self._gate_watch is None or self._gate_watch.done():
                self._gate_watch = asyncio.create_task(self._watch_gates(), name="vault-gates")
        return slot

    async def _open(self, entry: VaultEntry, gate: VaultGate) -> Vault:
        folder, shared = self.folder_of(entry), self._share()
        try:
            if (leaving := self._leaving.get(entry.vault_id)) is not None:
                await asyncio.wait({leaving})  # its lease and what it still writes
            async with shared.openings.turn():
                vault = await self._make_open(entry, folder, gate, shared)
        except BaseException as failure:
            gate.leave()
            if (slot := self.slots.get(entry.vault_id)) is not None and slot.gate is gate:
                del self.slots[entry.vault_id]
            if isinstance(failure, VaultQuarantined):
                self.quarantine_vault(entry, failure)
            raise
        finally:
            # Not before the task is done: until then the vault does not count as idle.
            asyncio.get_running_loop().call_soon(self._freed.set)
        self._quarantine.pop(entry.vault_id, None)
        self._report()
        return vault

    async def _make_open(self, entry: VaultEntry, folder: Path, gate: VaultGate, shared: SharedResources) -> Vault:
        vault = await self._make(entry, folder, gate, shared)
        try:
            await vault.open()
        except VaultQuarantined as failure:
            gate.leave()
            if not shared.hosting.drop_damaged(entry.vault_id, failure):
                raise
            vault = await self._make(entry, folder, gate, shared)
            await vault.open()
        return vault

    async def _make(self, entry: VaultEntry, folder: Path, gate: VaultGate, shared: SharedResources) -> Vault:
        from vaults.vault import Vault

        if shared.find_folder is not None and not folder.is_dir():
            await shared.find_folder(entry)
        await shared.hosting.take(entry, folder)
        try:
            gate.enter()
            return Vault(entry, folder, shared, self._reserve_of(entry))
        except BaseException:
            await shared.hosting.put_down(entry, folder)
            raise

    async def _make_room(self, vault_id: str) -> None:
        """Return once there is a slot for the vault, or somebody else has opened it. The caller must take the slot
        before it awaits anything else."""
        try:
            async with asyncio.timeout(ROOM_WAIT_S), self._arrivals:
                while vault_id not in self.slots and len(self.slots) >= self._storage.open_vaults:
                    if idle := self.idle():
                        self._begin_to_evict(idle[0])  # those behind would wait for one closing after the other
                    else:
                        self._freed.clear()
                        await self._freed.wait()
        except TimeoutError:
            raise Overloaded("every vault this server may keep open is in use", retry_after_s=1.0) from None

    def idle(self) -> list[str]:
        """Open vaults nobody uses, least recently used first."""
        idle = [(slot.used, key) for key, slot in self.slots.items() if not slot.leases and slot.opening.done()]
        return [vault_id for _, vault_id in sorted(idle)]

    async def evict(self, vault_id: str) -> None:
        await asyncio.shield(self._begin_to_evict(vault_id))
        self._report()

    def _begin_to_evict(self, vault_id: str) -> asyncio.Task[None]:
        closing = self.see_to_the_end(self._note_and_close(self.slots.pop(vault_id)))
        self._leaving[vault_id] = closing
        closing.add_done_callback(lambda _: self._leaving.pop(vault_id, None))
        return closing

    async def _note_and_close(self, slot: Slot) -> None:
        await self.rounds.note_change(slot)
        await close_slot(slot)

    async def outlive(self, task: TaskName, run: Coroutine[None, None, None]) -> None:
        with contextlib.suppress(StrongroomError):  # that vault's callers get the error; the next round comes
            await self.defects.outlive(task, run)

    async def keep_reserves(self) -> None:
        """Keep the disk space that deleting needs, and take it again after it was given up."""
        for reserve in list(self._reserves.values()):
            await run_in(self._share().pool, reserve.keep)

    def forget_gone(self) -> None:
        """A vault that was shut out and then deleted or archived, by whatever process, is nobody's trouble any more."""
        known = {entry.vault_id for entry in self.registered()}
        for vault_id in self._quarantine.keys() - known:
            del self._quarantine[vault_id]
        self._report()

    def _report(self) -> None:
        self._observer.on_open_vaults(len(self.slots))
        self._observer.on_quarantined_vaults(len(self._quarantine))


def _laid_out_anew() -> VaultUnavailable:
    return VaultUnavailable("the vault's copy on this server was damaged, and is made anew", hint="call again")


def _quiet(shared: SharedResources) -> SharedResources:
    from vaults.vault import keep_no_log

    is_local = shared.hosting is LOCAL_HOSTING  # else the log is the vault itself, and not a copy of it
    return replace(
        shared,
        background_jobs=(),
        jobs_of_vault=(),
        run_while_open=(),
        recover_on_open=None,
        before_close=None,
        commit_log=keep_no_log if is_local else shared.commit_log,
    )

"""All open vaults of a process: lease, least-recently-used close, memory budget, quarantine."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vaults import database_checks, heap
from vaults.background_defects import BackgroundDefects, TaskName
from vaults.context import run_in
from vaults.damage_inspection import DamageInspector
from vaults.db.failures import damaged_error
from vaults.disk_reserve import DiskReserve
from vaults.errors import Overloaded, StrongroomError, VaultQuarantined
from vaults.observer import Observer
from vaults.registry import DATABASE_FILE, VaultEntry, folder_of
from vaults.settings import StorageSettings
from vaults.vault_gate import VaultGate

if TYPE_CHECKING:  # what vaults are made of is most of this program, and a start opens none
    from vaults.domain.continuity.live_status import VaultFigures
    from vaults.domain.maintenance.integrity_round import IntegrityFigures
    from vaults.embed.model_watch import ModelWatch
    from vaults.embed.service import EmbeddingService
    from vaults.vault import SharedResources, Vault

QUARANTINE_S = 15.0
"""Seconds after which a quarantined vault is tried again, so that a repair needs no restart."""

SWEEP_AFTER_S = 2.0
"""Seconds after the start until vaults nobody asked for are opened: a short command never does it, and the first calls
of a server need not share the processor with it."""

SETTLE_S = 60.0
"""Seconds the sweep waits for a vault to index its files: enough for some 40,000 new ones."""

REST_S = 10.0
"""Seconds after which an open vault that nobody uses keeps only its vectors."""

ROUND_S = 5.0
"""Seconds between the pool's rounds: idle closes, memory budget, missing vectors."""

GO_ON_S = 30.0
"""Seconds after which a vault that rests or is closed before its change of model is done is looked into."""

ROOM_WAIT_S = 1.0
"""Seconds a call waits for a free slot when every open vault is in use."""

INSPECT_S = 5.0
"""Seconds between two checks for open vaults that are due for inspection."""

INSPECT_PAUSE_S = 0.05
"""Seconds between two vaults that are opened only for inspection: calls come first."""

INSPECT_AGAIN_S = 3600.0
"""Seconds after which an open vault is inspected again."""

INSPECT_ALL_S = 7 * 86_400.0
"""Seconds after which every vault is inspected again, also those nobody asks for."""

GATE_LOOK_S = 0.5
"""Seconds between two looks at whether somebody wants the folder of an open vault."""

CALLS_END_S = 2.0
"""Max seconds that calls have to notice that their vault was closed, before its folder is somebody else's."""

MAX_ADDITIONAL_LEASES = 4
"""Max vaults leased at a time, in the whole process, by calls that hold one already."""


@dataclass(slots=True)
class _Slot:
    name: str
    opening: asyncio.Task[Vault]
    gate: VaultGate
    leases: int = 0
    unused: asyncio.Event | None = None
    """Set with the last lease, where somebody waits for it."""
    used: float = field(default_factory=time.monotonic)
    is_resting: bool = False
    inspected: float | None = None
    figures: VaultFigures | None = None
    """As last counted: a resting vault is not woken for it."""
    integrity: IntegrityFigures | None = None


@dataclass(frozen=True, slots=True)
class _Quarantine:
    name: str
    until: float
    failure: VaultQuarantined


class VaultPool:
    """Opens, shares and closes vaults; nothing else makes a ``Vault``. ``share`` returns what they share, always the
    same, and is first called when a vault is opened; ``vaults_in`` lists the registered ones, for the sweep after a
    start, and ``work_in`` says when a command last left work in one, by vault id."""

    def __init__(
        self,
        data: Path,
        storage: StorageSettings,
        observer: Observer,
        share: Callable[[], SharedResources],
        vaults_in: Callable[[], Sequence[VaultEntry]] = tuple,
        work_in: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._data = data
        self._storage = storage
        self._observer = observer
        self._share = share
        self.defects = BackgroundDefects(observer)
        self._vaults_in = vaults_in
        self._work_in = work_in
        self._known_work: dict[str, str] = {}
        # By vault id: a name may have been another vault's a moment ago.
        self._slots: dict[str, _Slot] = {}
        self._quarantine: dict[str, _Quarantine] = {}
        self._reserves = {data: DiskReserve(data, storage)}
        self._inspector = DamageInspector(storage)
        self._background: tuple[asyncio.Task[None], ...] = ()
        self._gate_watch: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._watches: dict[EmbeddingService, ModelWatch] = {}
        self._changing: dict[str, float] = {}  # vaults by id, and since when, the longest first
        self.beside = max(1, min(MAX_ADDITIONAL_LEASES, storage.open_vaults // 4))
        self._beside = asyncio.Semaphore(self.beside)
        self._arrivals = asyncio.Lock()  # its holder gets the next free slot; the others queue behind
        self._freed = asyncio.Event()

    def without_background_work(self) -> VaultPool:
        """The same vaults for a caller who only looks: no background work runs in them. Close this pool first."""
        return VaultPool(self._data, self._storage, self._observer, lambda: _quiet(self._share()))

    @asynccontextmanager
    async def open_apart(self, entry: VaultEntry, folder: Path) -> AsyncIterator[Vault]:
        """Open the files in ``folder`` as this vault's, though nobody is served from there: one that is being restored
        is looked at. No background work runs in it, and no copy is kept of an older version: there is the backup. The
        caller has the folder alone. Raises as ``lease``."""
        from vaults.vault import Vault

        shared = replace(_quiet(self._share()), before_migration=None)
        vault = Vault(entry, folder, shared, self._reserve_of(entry))
        await vault.open()
        try:
            yield vault
        finally:
            await vault.close()

    def folder_of(self, entry: VaultEntry) -> Path:
        """Where a vault's state lies: in the data folder, or in ``.strongroom`` of a folder served in place."""
        return folder_of(self._data, entry.name, entry.path)

    def _reserve_of(self, entry: VaultEntry) -> DiskReserve:
        folder = self.folder_of(entry) if entry.path else self._data
        return self._reserves.setdefault(folder, DiskReserve(folder, self._storage))

    @property
    def open_count(self) -> int:
        return len(self._slots)

    @property
    def quarantined(self) -> dict[str, VaultQuarantined]:
        """Vaults that could not be opened, with the reason."""
        return {each.name: each.failure for each in self._quarantine.values()}

    def start(self) -> None:
        """Begin the background rounds; ``close`` ends them."""
        self._background = (asyncio.create_task(self._run_rounds()), asyncio.create_task(self._run_inspections()))

    @asynccontextmanager
    async def lease(self, entry: VaultEntry) -> AsyncIterator[Vault]:
        """Hold a vault open. Raises ``VaultQuarantined``, ``VaultUnavailable``, or ``Overloaded`` when every open
        vault stays in use for ``ROOM_WAIT_S`` and no more may be opened."""
        slot = await self._slot(entry)
        slot.leases += 1
        slot.is_resting = False
        try:
            vault = await asyncio.shield(slot.opening)
            vault.entry = entry  # its write rules may have changed, or its name
            slot.name = entry.name
            yield vault
        except VaultQuarantined as failure:
            self._quarantine_vault(entry, failure)
            raise
        finally:
            slot.leases -= 1
            slot.used = time.monotonic()
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
        return entry.vault_id in self._slots or len(self._slots) < self._storage.open_vaults or bool(self._idle())

    def _quarantine_vault(self, entry: VaultEntry, failure: VaultQuarantined) -> None:
        """Refuse a vault for ``QUARANTINE_S``: damage was met at opening or during a call. The others are served."""
        self._quarantine[entry.vault_id] = _Quarantine(entry.name, time.monotonic() + QUARANTINE_S, failure)
        if slot := self._slots.pop(entry.vault_id, None):
            self._close_in_background(slot)
        self._report()

    def _close_in_background(self, slot: _Slot) -> asyncio.Task[None]:
        """Close a slot already taken out of ``_slots``, even if the caller is cancelled."""
        return self._see_to_the_end(_close_slot(slot))

    def _see_to_the_end(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        closing = asyncio.create_task(work)
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._freed.set()
        return closing

    async def close_vault(self, name: str) -> None:
        """Close one vault now (it is archived, restored or moved); calls in flight are told so."""
        for vault_id in [vault_id for vault_id, slot in self._slots.items() if slot.name == name]:
            if slot := self._slots.pop(vault_id, None):
                await asyncio.shield(self._close_in_background(slot))
        for vault_id in [vault_id for vault_id, each in self._quarantine.items() if each.name == name]:
            del self._quarantine[vault_id]

    async def _watch_gates(self) -> None:
        """Close every vault whose folder somebody wants alone."""
        while self._slots:
            await asyncio.sleep(GATE_LOOK_S)
            for vault_id, slot in list(self._slots.items()):
                if slot.gate.is_wanted():
                    del self._slots[vault_id]
                    self._see_to_the_end(_hand_over(slot))
                    self._report()

    async def part(self) -> None:
        """Pause the sessions this process serves, because it ends. Call before ``close``."""
        opened = [slot.opening.result() for slot in self._slots.values() if _is_open(slot)]
        await asyncio.gather(*(vault.activity_log.pause_served() for vault in opened))

    async def close(self) -> None:
        """Stop the rounds and close every vault."""
        self._closed = True
        self._inspector.close()
        tasks = [*self._background, *([self._gate_watch] if self._gate_watch else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        slots, self._slots = list(self._slots.values()), {}
        await asyncio.gather(*(_close_slot(slot) for slot in slots), *self._closing, return_exceptions=True)

    async def _slot(self, entry: VaultEntry) -> _Slot:
        refused = self._quarantine.get(entry.vault_id)
        if refused is not None and refused.name == entry.name and time.monotonic() < refused.until:
            raise refused.failure
        slot = self._slots.get(entry.vault_id)
        if slot is None:
            await self._make_room(entry.vault_id)
            slot = self._slots.get(entry.vault_id)
        if slot is None:
            gate = VaultGate(self.folder_of(entry))
            slot = _Slot(entry.name, asyncio.create_task(self._open(entry, gate)), gate)
            self._slots[entry.vault_id] = slot
            self._observer.on_open_vaults(len(self._slots))
            if self._gate_watch is None or self._gate_watch.done():
                self._gate_watch = asyncio.create_task(self._watch_gates(), name="vault-gates")
        return slot

    async def _open(self, entry: VaultEntry, gate: VaultGate) -> Vault:
        from vaults.vault import Vault

        folder, shared = self.folder_of(entry), self._share()
        try:
            if shared.find_folder is not None and not folder.is_dir():
                await shared.find_folder(entry)
            gate.enter()
            vault = Vault(entry, folder, shared, self._reserve_of(entry))
            await vault.open()
        except BaseException as failure:
            gate.leave()
            if (slot := self._slots.get(entry.vault_id)) is not None and slot.gate is gate:
                del self._slots[entry.vault_id]
            if isinstance(failure, VaultQuarantined):
                self._quarantine_vault(entry, failure)
            raise
        finally:
            # Not before the task is done: until then the vault does not count as idle.
            asyncio.get_running_loop().call_soon(self._freed.set)
        self._quarantine.pop(entry.vault_id, None)
        self._report()
        return vault

    async def _make_room(self, vault_id: str) -> None:
        """Return once there is a slot for the vault, or somebody else has opened it. The caller must take the slot
        before it awaits anything else."""
        try:
            async with asyncio.timeout(ROOM_WAIT_S), self._arrivals:
                while vault_id not in self._slots and len(self._slots) >= self._storage.open_vaults:
                    if idle := self._idle():
                        await self._evict(idle[0])
                    else:
                        self._freed.clear()
                        await self._freed.wait()
        except TimeoutError:
            raise Overloaded("every vault this server may keep open is in use", retry_after_s=1.0) from None

    def _idle(self) -> list[str]:
        """Open vaults nobody uses, least recently used first."""
        idle = [(slot.used, key) for key, slot in self._slots.items() if not slot.leases and slot.opening.done()]
        return [vault_id for _, vault_id in sorted(idle)]

    async def _evict(self, vault_id: str) -> None:
        await asyncio.shield(self._see_to_the_end(self._note_and_close(self._slots.pop(vault_id))))
        self._report()

    async def _note_and_close(self, slot: _Slot) -> None:
        await self._note_change(slot)
        await _close_slot(slot)

    async def _run_rounds(self) -> None:
        await asyncio.sleep(SWEEP_AFTER_S)
        await self._outlive("vault_rounds", self._first_round())
        while not self._closed:
            await asyncio.sleep(ROUND_S)
            await self._outlive("vault_rounds", self._round())

    async def _outlive(self, task: TaskName, run: Coroutine[None, None, None]) -> None:
        with contextlib.suppress(StrongroomError):  # that vault's callers get the error; the next round comes
            await self.defects.outlive(task, run)

    async def _first_round(self) -> None:
        await self.keep_reserves()
        self._watch_models()
        self._known_work = dict(self._work_in())
        await self._sweep()

    async def _run_inspections(self) -> None:
        await asyncio.sleep(INSPECT_S)
        looked: float | None = None
        while not self._closed:
            if looked is None or time.monotonic() > looked + INSPECT_ALL_S:
                looked = time.monotonic()
                await self._outlive("inspect_databases", self._inspect_closed())
            await self._outlive("inspect_databases", self.inspect())
            await asyncio.sleep(INSPECT_S)

    async def _inspect_closed(self) -> None:
        """After a start and each week: inspect every vault, also those nobody asks for, slowly."""
        for entry in self._vaults_in():
            await self.inspect()
            if entry.vault_id in self._slots or not (self.folder_of(entry) / DATABASE_FILE).is_file():
                continue
            await self._inspect_one(entry)
            if entry.vault_id in self._idle() and not self._slots[entry.vault_id].opening.result().background.is_busy:
                await self._evict(entry.vault_id)
            await asyncio.sleep(INSPECT_PAUSE_S)

    async def inspect(self) -> None:
        """Inspect one after the other the databases of open vaults whose lease this process holds, unless that was done
        lately. A damaged vault is quarantined."""
        for slot in list(self._slots.values()):
            if _is_open(slot) and _is_inspection_due(slot):
                await self._inspect_one(slot.opening.result().entry)

    async def _inspect_one(self, entry: VaultEntry) -> None:
        with contextlib.suppress(StrongroomError):  # its callers get the error; tried again later
            async with self.lease(entry) as vault:
                slot = self._slots.get(entry.vault_id)
                if slot is not None and _is_inspection_due(slot):
                    await self._inspector.inspect(vault)
                    slot.inspected = time.monotonic()

    async def keep_reserves(self) -> None:
        """Keep the disk space that deleting needs, and take it again after it was given up."""
        for reserve in list(self._reserves.values()):
            await run_in(self._share().pool, reserve.keep)

    def _forget_gone(self) -> None:
        """A vault that was shut out and then deleted or archived, by whatever process, is nobody's trouble any more."""
        known = {entry.vault_id for entry in self._vaults_in()}
        for vault_id in self._quarantine.keys() - known:
            del self._quarantine[vault_id]
        self._report()

    async def _round(self) -> None:
        self._forget_gone()
        await self.keep_reserves()
        await self._go_on_changing()
        rested = False
        cutoff = time.monotonic() - self._storage.idle_close_s
        for vault_id in self._idle():
            slot = self._slots.get(vault_id)
            if slot is None:  # closed meanwhile
                continue
            if slot.used < cutoff and not slot.opening.result().background.is_busy:
                await self._evict(vault_id)
            elif slot.used < time.monotonic() - REST_S and not slot.is_resting:
                await self._note_change(slot)
                if slot.leases:  # by now
                    continue
                slot.is_resting = rested = True
                await slot.opening.result().rest()
        if rested:
            await run_in(self._share().pool, heap.trim)
        await self._keep_budget()
        await self._look_into_announced()
        await self._resume_work()
        await self._catch_up_after_outage()
        self._tell_figures()

    async def _look_into_announced(self) -> None:
        """Open vaults that rest or are closed, and in which a command left work."""
        before, self._known_work = self._known_work, dict(self._work_in())
        for entry in self._vaults_in():
            if self._known_work.get(entry.vault_id) != before.get(entry.vault_id):
                with contextlib.suppress(StrongroomError):  # that vault's callers get the error
                    async with self.lease(entry) as vault:
                        await _resume_background_work(vault)

    async def _note_change(self, slot: _Slot) -> None:
        """Remember a vault that is put to rest or closed before its change to another model is done."""
        from vaults.index import model_choice

        with contextlib.suppress(StrongroomError):
            vault = await slot.opening
            if not (await vault.db.read(model_choice.read_choice)).is_settled:
                self._changing[vault.entry.vault_id] = time.monotonic()

    async def _go_on_changing(self) -> None:
        """Look into one of those, the one that waits longest: its model may be back, or there may be room."""
        vault_id = next(iter(self._changing), None)
        if vault_id is None or self._changing[vault_id] > time.monotonic() - GO_ON_S:
            return
        del self._changing[vault_id]
        for entry in self._vaults_in():
            if entry.vault_id == vault_id:
                try:
                    async with self.lease(entry) as vault:
                        await _resume_background_work(vault)
                except StrongroomError:  # every vault is in use, or this one cannot be opened
                    self._changing[vault_id] = time.monotonic()

    async def _resume_work(self) -> None:
        """Have open vaults go on with what they do for themselves, and put aside one that was found damaged."""
        from vaults.domain.continuity import live_status
        from vaults.domain.maintenance import integrity_round

        pending = 0
        for slot in list(self._slots.values()):
            if _is_open(slot) and database_checks.is_marked_damaged(slot.opening.result().db.path):
                self._quarantine_vault(slot.opening.result().entry, damaged_error())
                continue
            if not _is_open(slot):
                continue
            slot.opening.result().background.resume_lasting_tasks()
            if not slot.is_resting:
                pending += await _resume_background_work(slot.opening.result())
                with contextlib.suppress(StrongroomError):
                    slot.figures = await live_status.read_figures(slot.opening.result())
                    slot.integrity = await slot.opening.result().db.read(integrity_round.read_figures)
        self._observer.on_missing_vectors(pending)

    async def _catch_up_after_outage(self) -> None:
        """Once a model that was away is back, have all vaults compute the vectors they lack, also those that rest or
        were closed meanwhile. In a short outage none was, but where another model is back, all are to be embedded."""
        if any([await watch.is_catching_up_due(REST_S) for watch in self._watch_models()]):
            await self._sweep()

    def _watch_models(self) -> list[ModelWatch]:
        from vaults.embed.model_watch import ModelWatch

        for embedder in self._share().models.services:
            if embedder not in self._watches:
                self._watches[embedder] = ModelWatch(embedder)
        return list(self._watches.values())

    def _tell_figures(self) -> None:
        from vaults.domain.continuity import live_status

        figures = live_status.combine_figures([slot.figures for slot in self._slots.values() if slot.figures])
        observer = self._observer
        observer.on_activity(figures.sessions, figures.claims)
        observer.on_stored(figures.memories, figures.size)
        observer.on_filled(figures.limit, figures.filled)
        looked = [slot.integrity for slot in self._slots.values() if slot.integrity]
        problems = sum(each.problems for each in looked)
        observer.on_integrity(problems, max((each.age_s for each in looked), default=0.0))
        observer.on_health(1.0 if figures.health is None else figures.health)

    async def _keep_budget(self) -> None:
        budget = self._storage.memory_budget_mb * 1024 * 1024
        for vault_id in self._idle():
            used = sum(s.opening.result().vector_bytes for s in self._slots.values() if _is_open(s))
            if used <= budget:
                return
            if (slot := self._slots.get(vault_id)) is None:  # closed meanwhile
                continue
            vault = slot.opening.result()
            await vault.settle()
            await vault.drop_vectors()

    async def _sweep(self) -> None:
        """After a start: index what changed meanwhile and compute missing vectors, one vault at a time."""
        for entry in self._vaults_in():
            if (self.folder_of(entry) / DATABASE_FILE).is_file():
                was_open = entry.vault_id in self._slots
                try:
                    async with self.lease(entry) as vault:
                        if vault.lease.held:  # an interrupted look at its files would start over
                            await vault.notes.wait_for_index(SETTLE_S)
                        missing = await _resume_background_work(vault)
                    if not missing and not was_open and entry.vault_id in self._idle():
                        await self._evict(entry.vault_id)
                except StrongroomError:
                    continue  # a vault that cannot be opened tells the next caller so

    def _report(self) -> None:
        self._observer.on_open_vaults(len(self._slots))
        self._observer.on_quarantined_vaults(len(self._quarantine))


def _quiet(shared: SharedResources) -> SharedResources:
    from vaults.vault import keep_no_log

    return replace(
        shared,
        background_jobs=(),
        jobs_of_vault=(),
        run_while_open=(),
        recover_on_open=None,
        before_close=None,
        commit_log=keep_no_log,
    )


async def _resume_background_work(vault: Vault) -> int:
    """Start computing missing vectors and running due jobs, also those another process left; returns how many vectors
    are missing."""
    from vaults.index import embeddings

    try:
        await vault.refresh_model()
        await vault.adopt_model()
        missing = await vault.db.read(embeddings.count_missing)
        jobs_due = await vault.db.read(vault.has_due_jobs)
    except StrongroomError:
        return 0
    if missing or jobs_due:
        vault.start_background_work()
    return missing


def _is_open(slot: _Slot) -> bool:
    return slot.opening.done() and not slot.opening.cancelled() and slot.opening.exception() is None


def _is_inspection_due(slot: _Slot) -> bool:
    """Whether this process is to inspect an open vault now."""
    recent = slot.inspected is not None and slot.inspected > time.monotonic() - INSPECT_AGAIN_S
    return not recent and slot.opening.result().lease.held


async def _close_slot(slot: _Slot) -> None:
    try:
        vault = await slot.opening
    except StrongroomError:
        return
    try:
        await vault.close()
    finally:
        slot.gate.leave()


async def _hand_over(slot: _Slot) -> None:
    """Close a vault whose folder somebody wants, and hold its gate until the calls in flight have ended."""
    slot.unused = asyncio.Event()
    try:
        with contextlib.suppress(StrongroomError):
            await (await slot.opening).close()
        if slot.leases:
            async with asyncio.timeout(CALLS_END_S):
                await slot.unused.wait()
    except TimeoutError:
        return
    finally:
        slot.gate.leave()

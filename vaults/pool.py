"""All open vaults of a process: lease, least-recently-used close, memory budget, quarantine."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from vaults import heap
from vaults.context import run_in
from vaults.damage_inspection import DamageInspector
from vaults.db.failures import damaged_error
from vaults.disk_reserve import DiskReserve
from vaults.domain.continuity import live_status
from vaults.domain.continuity.live_status import VaultFigures
from vaults.errors import Overloaded, StrongroomError, VaultQuarantined
from vaults.index import embeddings
from vaults.registry import VaultEntry, folder_of
from vaults.vault import DATABASE_FILE, SharedResources, Vault

QUARANTINE_S = 15.0
"""Seconds after which a quarantined vault is looked at again: a repair needs no restart."""

SWEEP_AFTER_S = 2.0
"""Seconds after the start until vaults nobody asked for are opened: a command that ends at once never does, and the
first calls of a server need not share the processor with it."""

SETTLE_S = 60.0
"""Seconds the sweep gives a vault to look at its files: some 40,000 new ones."""

REST_S = 10.0
"""Seconds after which an open vault that nobody uses keeps only its vectors."""

ROUND_S = 5.0
"""Seconds between the pool's rounds: idle closes, memory budget, owed vectors."""

ROOM_WAIT_S = 1.0
"""Seconds a call waits for a place when every open vault is in use."""

INSPECT_S = 5.0
"""Seconds between two looks for a vault whose database is to be looked through."""

INSPECT_PAUSE_S = 0.05
"""Seconds between two vaults that are opened only to be looked through: the calls come first."""

INSPECT_AGAIN_S = 3600.0
"""Seconds after which an open vault is looked through once more."""

MAX_ADDITIONAL_LEASES = 4
"""Vaults leased at most, in the whole process, by calls that hold one already."""


@dataclass(slots=True)
class _Slot:
    opening: asyncio.Task[Vault]
    leases: int = 0
    used: float = field(default_factory=time.monotonic)
    is_resting: bool = False
    inspected: float | None = None
    figures: VaultFigures = field(
        default_factory=VaultFigures
    )  # as last counted: a vault that rests is not woken for it


class VaultPool:
    """The only maker of ``Vault``. ``vaults_in`` lists what is registered, for the sweep after a start."""

    def __init__(
        self, data: Path, shared: SharedResources, vaults_in: Callable[[], Sequence[VaultEntry]] = tuple
    ) -> None:
        self._data = data
        self._shared = shared
        self._vaults_in = vaults_in
        self._slots: dict[str, _Slot] = {}
        self._quarantine: dict[str, tuple[float, VaultQuarantined]] = {}
        self._reserves = {data: DiskReserve(data, shared.storage)}
        self._inspector = DamageInspector(shared.storage)
        self._background: tuple[asyncio.Task[None], ...] = ()
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self.beside = max(1, min(MAX_ADDITIONAL_LEASES, shared.storage.open_vaults // 4))
        self._beside = asyncio.Semaphore(self.beside)
        self._arrivals = asyncio.Lock()  # whoever holds it is the next to get a place; the others queue behind
        self._freed = asyncio.Event()

    def without_background_work(self) -> VaultPool:
        """The same vaults for somebody who only looks: nothing goes on in them while they are open. Close this one
        first."""
        return VaultPool(
            self._data,
            replace(self._shared, background_jobs=(), background_task=None, recover_on_open=None, before_close=None),
        )

    def folder_of(self, entry: VaultEntry) -> Path:
        """Where a vault's state lies: in the data folder, or in ``.strongroom`` of a folder served in place."""
        return folder_of(self._data, entry.name, entry.path)

    def _reserve_of(self, entry: VaultEntry) -> DiskReserve:
        folder = self.folder_of(entry) if entry.path else self._data
        return self._reserves.setdefault(folder, DiskReserve(folder, self._shared.storage))

    @property
    def open_count(self) -> int:
        return len(self._slots)

    @property
    def quarantined(self) -> dict[str, VaultQuarantined]:
        """Vaults that could not be opened, with the reason."""
        return {name: failure for name, (_, failure) in self._quarantine.items()}

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
            vault.entry = entry  # how writing goes there may have been set anew
            yield vault
        except VaultQuarantined as failure:
            self._quarantine_vault(entry.name, failure)
            raise
        finally:
            slot.leases -= 1
            slot.used = time.monotonic()
            self._freed.set()

    @asynccontextmanager
    async def lease_additional(self, entry: VaultEntry) -> AsyncIterator[Vault]:
        """``lease`` for a call that holds another vault: at most ``beside`` of these at a time in the process, so
        that no call over many vaults takes the places of everybody else."""
        async with self._beside, self.lease(entry) as vault:
            yield vault

    def has_room(self, name: str) -> bool:
        """Whether a lease would not have to wait for a place now."""
        return name in self._slots or len(self._slots) < self._shared.storage.open_vaults or bool(self._idle())

    def _quarantine_vault(self, name: str, failure: VaultQuarantined) -> None:
        """Damage was met, at opening or in the middle of a call: nobody gets in for a while, the others are served."""
        self._quarantine[name] = (time.monotonic() + QUARANTINE_S, failure)
        if slot := self._slots.pop(name, None):
            self._close_in_background(slot)
        self._report()

    def _close_in_background(self, slot: _Slot) -> asyncio.Task[None]:
        """Close what is no longer in ``_slots``, whatever becomes of the caller."""
        closing = asyncio.create_task(_close_slot(slot))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._freed.set()
        return closing

    async def close_vault(self, name: str) -> None:
        """Close one vault as soon as nobody uses it (it is archived, restored or moved)."""
        if slot := self._slots.pop(name, None):
            await asyncio.shield(self._close_in_background(slot))
        self._quarantine.pop(name, None)

    async def part(self) -> None:
        """The process ends: pause the sessions it serves. Before ``close``."""
        opened = [slot.opening.result() for slot in self._slots.values() if _is_open(slot)]
        await asyncio.gather(*(vault.activity_log.part() for vault in opened))

    async def close(self) -> None:
        """Stop the rounds and close every vault."""
        self._closed = True
        self._inspector.close()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        slots, self._slots = list(self._slots.values()), {}
        await asyncio.gather(*(_close_slot(slot) for slot in slots), *self._closing, return_exceptions=True)

    async def _slot(self, entry: VaultEntry) -> _Slot:
        until, failure = self._quarantine.get(entry.name, (0.0, None))
        if failure is not None and time.monotonic() < until:
            raise failure
        slot = self._slots.get(entry.name)
        if slot is None:
            await self._make_room(entry.name)
            slot = self._slots.get(entry.name)
        if slot is None:
            slot = self._slots[entry.name] = _Slot(asyncio.create_task(self._open(entry)))
            self._shared.observer.open_vaults(len(self._slots))
        return slot

    async def _open(self, entry: VaultEntry) -> Vault:
        vault = Vault(entry, self.folder_of(entry), self._shared, self._reserve_of(entry))
        try:
            await vault.open()
        except BaseException as failure:
            self._slots.pop(entry.name, None)
            if isinstance(failure, VaultQuarantined):
                self._quarantine_vault(entry.name, failure)
            raise
        finally:
            # Not before the task is done: until then the vault does not count as idle.
            asyncio.get_running_loop().call_soon(self._freed.set)
        self._quarantine.pop(entry.name, None)
        self._report()
        return vault

    async def _make_room(self, name: str) -> None:
        """Return once there is a place for ``name``, or somebody else has opened it. The caller takes the place
        before it waits for anything else."""
        try:
            async with asyncio.timeout(ROOM_WAIT_S), self._arrivals:
                while name not in self._slots and len(self._slots) >= self._shared.storage.open_vaults:
                    if idle := self._idle():
                        await self._evict(idle[0])
                    else:
                        self._freed.clear()
                        await self._freed.wait()
        except TimeoutError:
            raise Overloaded("every vault this server may keep open is in use", retry_after_s=1.0) from None

    def _idle(self) -> list[str]:
        """Open vaults nobody uses, least recently used first."""
        idle = [(slot.used, name) for name, slot in self._slots.items() if not slot.leases and slot.opening.done()]
        return [name for _, name in sorted(idle)]

    async def _evict(self, name: str) -> None:
        await asyncio.shield(self._close_in_background(self._slots.pop(name)))
        self._report()

    async def _run_rounds(self) -> None:
        await asyncio.sleep(SWEEP_AFTER_S)
        await self.keep_reserves()
        await self._sweep()
        while not self._closed:
            await asyncio.sleep(ROUND_S)
            with contextlib.suppress(StrongroomError):  # one vault's trouble, told to its callers; the next round comes
                await self._round()

    async def _run_inspections(self) -> None:
        await asyncio.sleep(INSPECT_S)
        await self._inspect_closed()
        while not self._closed:
            await self.inspect()
            await asyncio.sleep(INSPECT_S)

    async def _inspect_closed(self) -> None:
        """After a start: look through every vault, also those nobody asks for, slowly."""
        for entry in self._vaults_in():
            await self.inspect()
            if entry.name in self._slots or not (self.folder_of(entry) / DATABASE_FILE).is_file():
                continue
            await self._inspect_one(entry)
            if entry.name in self._idle() and not self._slots[entry.name].opening.result().busy:
                await self._evict(entry.name)
            await asyncio.sleep(INSPECT_PAUSE_S)

    async def inspect(self) -> None:
        """Look through the databases of open vaults, where that is this process's to do and was not done lately, one
        after the other. A damaged vault is shut out."""
        for slot in list(self._slots.values()):
            if _is_open(slot) and _is_inspection_due(slot):
                await self._inspect_one(slot.opening.result().entry)

    async def _inspect_one(self, entry: VaultEntry) -> None:
        with contextlib.suppress(StrongroomError):  # told to its callers, and tried again
            async with self.lease(entry) as vault:
                slot = self._slots.get(entry.name)
                if slot is not None and _is_inspection_due(slot):
                    await self._inspector.inspect(vault)
                    slot.inspected = time.monotonic()

    async def keep_reserves(self) -> None:
        """Have the room kept that deleting needs, also again after it was given up."""
        for reserve in list(self._reserves.values()):
            await run_in(self._shared.pool, reserve.keep)

    async def _round(self) -> None:
        await self.keep_reserves()
        rested = False
        cutoff = time.monotonic() - self._shared.storage.idle_close_s
        for name in self._idle():
            slot = self._slots[name]
            if slot.used < cutoff and not slot.opening.result().busy:
                await self._evict(name)
            elif slot.used < time.monotonic() - REST_S and not slot.is_resting:
                slot.is_resting = rested = True
                await slot.opening.result().rest()
        if rested:
            await run_in(self._shared.pool, heap.trim)
        await self._keep_budget()
        pending = 0
        for slot in list(self._slots.values()):
            if _is_open(slot) and slot.opening.result().is_marked_damaged():
                self._quarantine_vault(slot.opening.result().name, damaged_error())
                continue
            if _is_open(slot) and not slot.is_resting:
                slot.opening.result().resume_background_task()
                pending += await _resume_background_work(slot.opening.result())
                with contextlib.suppress(StrongroomError):
                    slot.figures = await live_status.read_figures(slot.opening.result())
        self._shared.observer.index_drift(pending)
        self._tell_figures()

    def _tell_figures(self) -> None:
        found, observer = (
            live_status.combine_figures([slot.figures for slot in self._slots.values()]),
            self._shared.observer,
        )
        observer.at_work(found.sessions, found.claims)
        observer.held(found.memories, found.size)
        observer.healthy(1.0 if found.health is None else found.health)

    async def _keep_budget(self) -> None:
        budget = self._shared.storage.memory_budget_mb * 1024 * 1024
        for name in self._idle():
            held = sum(s.opening.result().projection.memory_bytes for s in self._slots.values() if _is_open(s))
            if held <= budget:
                return
            vault = self._slots[name].opening.result()
            await vault.settle()
            await vault.projection.drop()

    async def _sweep(self) -> None:
        """After a start: index what changed meanwhile, and finish the vectors that are owed, one vault at a time."""
        for entry in self._vaults_in():
            if (self.folder_of(entry) / DATABASE_FILE).is_file():
                try:
                    async with self.lease(entry) as vault:
                        if vault.lease.held:  # a look at its files that is broken off would have to begin again
                            await vault.notes.settled(SETTLE_S)
                        owed = await _resume_background_work(vault)
                    if not owed and entry.name in self._idle():
                        await self._evict(entry.name)
                except StrongroomError:
                    continue  # a vault that cannot be opened reports itself when it is asked for

    def _report(self) -> None:
        self._shared.observer.open_vaults(len(self._slots))
        self._shared.observer.quarantined(len(self._quarantine))


async def _resume_background_work(vault: Vault) -> int:
    """Have owed vectors paid, and background jobs done, also those another process left; returns how many vectors are
    owed."""
    try:
        owed = await vault.db.read(embeddings.count_missing)
        jobs_due = await vault.db.read(vault.has_due_jobs)
    except StrongroomError:
        return 0
    if owed or jobs_due:
        vault.start_background_work()
    return owed


def _is_open(slot: _Slot) -> bool:
    return slot.opening.done() and not slot.opening.cancelled() and slot.opening.exception() is None


def _is_inspection_due(slot: _Slot) -> bool:
    """Whether an open vault is to be looked through here."""
    lately = slot.inspected is not None and slot.inspected > time.monotonic() - INSPECT_AGAIN_S
    return not lately and slot.opening.result().lease.held


async def _close_slot(slot: _Slot) -> None:
    try:
        vault = await slot.opening
    except StrongroomError:
        return
    await vault.close()

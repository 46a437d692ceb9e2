"""What a pool does by itself: idle closes, rest, the memory budget, missing vectors, work that was left."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vaults import database_checks, heap
from vaults.context import run_in
from vaults.db.failures import damaged_error
from vaults.errors import StrongroomError
from vaults.observer import Observer
from vaults.pool_slots import Slot, is_open
from vaults.registry import DATABASE_FILE
from vaults.settings import StorageSettings

if TYPE_CHECKING:
    from vaults.embed.model_watch import ModelWatch
    from vaults.embed.service import EmbeddingService
    from vaults.pool import VaultPool
    from vaults.vault import SharedResources, Vault

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


class PoolRounds:
    """The rounds of one pool. ``work_in`` says when a command last left work in a vault, by vault id."""

    def __init__(
        self,
        pool: VaultPool,
        storage: StorageSettings,
        observer: Observer,
        share: Callable[[], SharedResources],
        work_in: Callable[[], Mapping[str, str]],
    ) -> None:
        self._pool = pool
        self._storage = storage
        self._observer = observer
        self._share = share
        self._work_in = work_in
        self._known_work: dict[str, str] = {}
        self._watches: dict[EmbeddingService, ModelWatch] = {}
        self._changing: dict[str, float] = {}  # vaults by id, and since when, the longest first

    async def run(self) -> None:
        """Until the pool is closed or this is cancelled."""
        await asyncio.sleep(SWEEP_AFTER_S)
        await self._pool.outlive("vault_rounds", self._first_round())
        while not self._pool.is_closed:
            await asyncio.sleep(ROUND_S)
            await self._pool.outlive("vault_rounds", self.run_round())

    async def _first_round(self) -> None:
        await self._pool.keep_reserves()
        self._watch_models()
        self._known_work = dict(self._work_in())
        await self.sweep()
        await run_in(self._share().pool, heap.trim)  # a start makes much that it does not keep

    async def run_round(self) -> None:
        """One round."""
        await self._share().openings.wait_for_calm()
        self._pool.forget_gone()
        await self._pool.keep_reserves()
        await self._go_on_changing()
        rested = False
        cutoff = time.monotonic() - self._storage.idle_close_s
        for vault_id in self._pool.idle():
            slot = self._pool.slots.get(vault_id)
            if slot is None or slot.leases:  # closed meanwhile, or in use again
                continue
            if slot.used < cutoff and not slot.opening.result().background.is_busy:
                await self._pool.evict(vault_id)
            elif slot.used < time.monotonic() - REST_S and not slot.is_resting:
                await self.note_change(slot)
                if slot.leases or self._pool.slots.get(vault_id) is not slot:  # by now
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
        for entry in self._pool.registered():
            if self._known_work.get(entry.vault_id) != before.get(entry.vault_id):
                with contextlib.suppress(StrongroomError):  # that vault's callers get the error
                    async with self._pool.lease(entry) as vault:
                        await _resume_background_work(vault)

    async def note_change(self, slot: Slot) -> None:
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
        for entry in self._pool.registered():
            if entry.vault_id == vault_id:
                try:
                    async with self._pool.lease(entry) as vault:
                        await _resume_background_work(vault)
                except StrongroomError:  # every vault is in use, or this one cannot be opened
                    self._changing[vault_id] = time.monotonic()

    async def _resume_work(self) -> None:
        """Have open vaults go on with what they do for themselves, and put aside one that was found damaged."""
        from vaults.domain.continuity import live_status
        from vaults.domain.maintenance import integrity_round

        pending = 0
        for slot in list(self._pool.slots.values()):
            if is_open(slot) and database_checks.is_marked_damaged(slot.opening.result().db.path):
                self._pool.put_aside(slot.opening.result().entry, slot, damaged_error())
                continue
            if not is_open(slot):
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
            await self.sweep()

    def _watch_models(self) -> list[ModelWatch]:
        from vaults.embed.model_watch import ModelWatch

        for embedder in self._share().models.services:
            if embedder not in self._watches:
                self._watches[embedder] = ModelWatch(embedder)
        return list(self._watches.values())

    def _tell_figures(self) -> None:
        from vaults.domain.continuity import live_status

        figures = live_status.combine_figures([slot.figures for slot in self._pool.slots.values() if slot.figures])
        observer = self._observer
        observer.on_activity(figures.sessions, figures.claims)
        observer.on_stored(figures.memories, figures.size)
        observer.on_filled(figures.limit, figures.filled)
        looked = [slot.integrity for slot in self._pool.slots.values() if slot.integrity]
        problems = sum(each.problems for each in looked)
        observer.on_integrity(problems, max((each.age_s for each in looked), default=0.0))
        observer.on_health(1.0 if figures.health is None else figures.health)

    async def _keep_budget(self) -> None:
        budget = self._storage.memory_budget_mb * 1024 * 1024
        for vault_id in self._pool.idle():
            used = sum(s.opening.result().vector_bytes for s in self._pool.slots.values() if is_open(s))
            if used <= budget:
                return
            slot = self._pool.slots.get(vault_id)
            if slot is None or not is_open(slot):  # closed meanwhile, or being opened anew
                continue
            vault = slot.opening.result()
            await vault.settle()
            await vault.drop_vectors()

    async def sweep(self) -> None:
        """After a start: index what changed meanwhile and compute missing vectors, one vault at a time."""
        for entry in self._pool.registered():
            if (self._pool.folder_of(entry) / DATABASE_FILE).is_file():
                was_open = entry.vault_id in self._pool.slots
                try:
                    async with self._pool.lease(entry) as vault:
                        if vault.lease.held:  # an interrupted look at its files would start over
                            await vault.notes.wait_for_index(SETTLE_S)
                        missing = await _resume_background_work(vault)
                    if not missing and not was_open and entry.vault_id in self._pool.idle():
                        await self._pool.evict(entry.vault_id)
                except StrongroomError:
                    continue  # a vault that cannot be opened tells the next caller so


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

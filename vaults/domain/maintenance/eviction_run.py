"""One run over a vault that lets items go: in transactions of some milliseconds, each written down before it goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from uuid_utils import uuid7

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.documents import storage as document_storage
from vaults.domain.maintenance import eviction_copies, eviction_log
from vaults.domain.maintenance.eviction_candidates import is_unchanged
from vaults.domain.maintenance.eviction_log import UnfinishedEviction
from vaults.domain.maintenance.eviction_need import SET_INFO
from vaults.domain.maintenance.eviction_plan import PlannedEviction
from vaults.domain.maintenance.retention import PAUSE_S, SLICE_S
from vaults.domain.memories import indexing as memory_indexing
from vaults.domain.memories import lifecycle
from vaults.errors import StorageFull
from vaults.index import passages, text_index
from vaults.index.shelves import SHELVES
from vaults.vault import Vault

T = TypeVar("T")

ROWS = 8
"""Passages or parts removed by one statement: it must end within a slice."""

COPIED_AT_ONCE = 1_000_000
"""Characters of the items that are read and compressed together."""

MERGED_PAGES = 8
"""Pages of the text index merged in one step: of a large one, more take too long for those who wait."""

FOLLOWED = 500
"""Passages after which the indexes in memory are told: none of their readers has to hear of all of them at once."""

SAME_RUN_S = 600.0
"""Seconds after which what goes belongs to another run, that is taken back by itself."""

TIDY = "evictions_tidy"
"""In ``vault_info``: room was made that is still to be given back."""


@dataclass(frozen=True, slots=True)
class _CopiedItem:
    planned: PlannedEviction
    data: bytes | None


class EvictionRun:
    """One run over a vault: what goes in it is taken back together."""

    def __init__(self, vault: Vault, until: float | None) -> None:
        self.vault = vault
        self._until = until
        self._copies = eviction_copies.max_copies(vault.limits.max_size) if vault.disk.has_room_in_bulk() else 0
        self._name: str | None = None
        self._removed = 0

    def _is_over(self) -> bool:
        return self._until is not None and time.monotonic() > self._until

    async def finish_begun(self) -> bool:
        """Remove what is left of an item whose removal was interrupted; returns whether there was time for it."""
        while await self.vault.db.read(lambda tx: eviction_log.find_unfinished(tx) is not None):
            if self._is_over():
                return False
            await self._write_slice(self._remove_slice)
        return True

    async def drop_earlier_copies(self) -> None:
        """Make room with what was kept of earlier runs, before anything else goes."""
        name = await self._find_name()
        statement = "SELECT e.seq FROM evictions e JOIN evicted_copies c ON c.eviction = e.seq WHERE e.run <> :run"
        for (seq,) in await self.vault.db.read(lambda tx: tx.all(statement, {"run": name})):
            await self.vault.db.write(
                lambda tx, seq=seq: tx.run("DELETE FROM evicted_copies WHERE eviction = :seq", {"seq": seq})  # type: ignore[misc]
            )

    async def let_go(self, goes: Sequence[PlannedEviction]) -> int:
        """Let the items go, in order; returns for how many there was time."""
        at = 0
        while at < len(goes) and not self._is_over():
            batch, size = [goes[at]], goes[at].candidate.size
            while at + len(batch) < len(goes) and len(batch) < ROWS and size < COPIED_AT_ONCE:
                batch.append(goes[at + len(batch)])
                size += batch[-1].candidate.size
            at += len(batch)
            await self._let_go_batch(batch)
        return at

    async def _let_go_batch(self, batch: Sequence[PlannedEviction]) -> None:
        name = await self._find_name()
        items = await self.vault.db.read(
            lambda tx: [(each, eviction_copies.read_item(tx, each.candidate)) for each in batch]
        )
        copied = await run_in(self.vault.shared.pool, self._compress, items)
        left = [each for each in copied if each is not None]
        while left:
            left = left[await self._write_slice(partial(self._slice, name, left)) :]
        await self.finish_begun()

    async def _write_slice(self, work: Callable[[Writer], T]) -> T:
        """One transaction that removes, and what FTS5 would have merged meanwhile, in short steps."""

        def write(tx: Writer) -> T:
            with text_index.merges_put_off(tx, SHELVES):
                return work(tx)

        done = await self.vault.db.write(write)
        await self._pause()
        await merge_words(self.vault, MERGED_PAGES)
        return done

    def _compress(self, items: Sequence[tuple[PlannedEviction, eviction_copies.ItemRows]]) -> list[_CopiedItem | None]:
        """Copies of the items; None for one that is gone by now."""
        return [
            _CopiedItem(planned, eviction_copies.compress(rows) if self._copies else None) if rows[0].rows else None
            for planned, rows in items
        ]

    def _slice(self, name: str, left: Sequence[_CopiedItem], tx: Writer) -> int:
        """One transaction: finish what is begun, begin the next; returns how many were begun."""
        until, begun = time.perf_counter() + SLICE_S, 0
        while begun < len(left) and not self._remove_until(tx, until):
            self._begin(tx, name, left[begun])
            begun += 1
            if time.perf_counter() > until:
                break
        return begun

    def _begin(self, tx: Writer, name: str, item: _CopiedItem) -> None:
        one = item.planned.candidate
        if not is_unchanged(tx, one):  # somebody works on it, or another process was faster
            return
        if one.kind != "memory":
            document_storage.detach(tx, one.seq)
        seq = eviction_log.begin(tx, name, item.planned)
        _owe_tidying(tx)
        if item.data is not None:
            eviction_copies.keep(tx, seq, item.data, self._copies)

    def _remove_slice(self, tx: Writer) -> bool:
        """One transaction: remove rows of items whose removal was begun; returns whether there are more."""
        return self._remove_until(tx, time.perf_counter() + SLICE_S)

    def _remove_until(self, tx: Writer, until: float) -> bool:
        while (begun := eviction_log.find_unfinished(tx)) is not None:
            if not self._remove_some(tx, begun):
                eviction_log.set_state(tx, begun.seq, "gone")
            self._removed += ROWS
            if time.perf_counter() > until:
                return True
        return False

    def _remove_some(self, tx: Writer, begun: UnfinishedEviction) -> bool:
        if begun.kind == "memory":
            _delete_memory(tx, begun.item)
            return False
        return document_storage.remove_some(tx, begun.kind, begun.item, ROWS)

    async def _pause(self) -> None:
        await asyncio.sleep(PAUSE_S)
        if self._removed >= FOLLOWED:
            self._removed = 0
            for each in self.vault.projections:
                await each.catch_up()

    async def _find_name(self) -> str:
        if self._name is None:
            found = await self.vault.db.read(lambda tx: eviction_log.find_run(tx, clock.ago(SAME_RUN_S)))
            self._name = found or str(uuid7())
        return self._name


async def merge_words(vault: Vault, pages: int) -> None:
    """Merge segments of the text index in steps of so many pages, as far as FTS5 sees a need; negative: until each
    table is one. Merging takes room first: where there is none, the words stay until there is some."""
    try:
        while await vault.db.write_uncounted(partial(text_index.merge_some, pages=pages)):
            pages = abs(pages)
            await asyncio.sleep(PAUSE_S)
    except StorageFull:
        return


def _delete_memory(tx: Writer, seq: int) -> None:
    gone = {"seq": seq, "id": tx.value("SELECT id FROM memories WHERE seq = :seq", {"seq": seq})}
    lifecycle.note_purged(tx, seq, gone["id"])
    passages.remove_items(tx, memory_indexing.KIND, [seq])
    tx.run("DELETE FROM idempotency_keys WHERE memory = :id", gone)
    tx.run("DELETE FROM memories WHERE seq = :seq", gone)
    tx.run("UPDATE memories SET supersedes = NULL WHERE supersedes = :id", gone)


def _owe_tidying(tx: Writer) -> None:
    tx.run(SET_INFO, {"key": TIDY, "value": str(uuid7())})

"""A vault's vector index in memory: loaded on first need, brought up to date before each answer, saved on close."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.context import run_in
from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.embed.backend import ModelIdentity
from vaults.index import embeddings, snapshot
from vaults.index.embeddings import VectorDelta
from vaults.index.shelves import MAIN, Shelf
from vaults.index.snapshot import SnapshotInvalid
from vaults.index.vector_index import SnapshotStamp, VectorIndex
from vaults.settings import IndexSettings

if TYPE_CHECKING:
    import numpy as np

SNAPSHOT_FROM = 2_000
"""Vectors below which reading the rows is as fast as reading a file."""


class Projection:
    """Replays the ``embeddings`` of a shelf into a ``VectorIndex``. All FAISS work happens on ``pool``."""

    def __init__(
        self,
        folder: Path,
        vault_id: str,
        db: Database,
        settings: IndexSettings,
        pool: Executor,
        shelf: Shelf = MAIN,
    ) -> None:
        self._path = folder / shelf.snapshot
        self._shelf = shelf
        self._vault_id = vault_id
        self._db = db
        self._settings = settings
        self._pool = pool
        self._index: VectorIndex | None = None
        self._stamp: SnapshotStamp | None = None
        self._saved_at = 0
        self._changing = asyncio.Lock()  # held to set, drop or update the index
        self._filing = asyncio.Lock()  # held to write or remove the snapshot; taken before the other lock
        self._rebuild: asyncio.Task[bool] | None = None
        self._stop_rebuild = threading.Event()

    @property
    def memory_bytes(self) -> int:
        """Bytes the vectors take in memory now."""
        return self._index.memory_bytes if self._index is not None else 0

    @property
    def size(self) -> int | None:
        """Number of vectors, or None while the index is not loaded."""
        return len(self._index) if self._index is not None else None

    @property
    def seen(self) -> int:
        """The last change applied."""
        return self._index.seen if self._index is not None else 0

    async def search(
        self, model: ModelIdentity, query: np.ndarray, k: int, allow: np.ndarray | None = None, *, at_least: int
    ) -> list[tuple[int, float]]:
        """The ``k`` nearest passages as ``(passage, cosine)``. ``at_least`` is a change number the caller has read:
        the index is brought up to it first."""
        index = await self.current(model, at_least)
        return await run_in(self._pool, index.search, query, k, allow)

    async def current(self, model: ModelIdentity, at_least: int) -> VectorIndex:
        """The index of ``model``, having applied at least change ``at_least``."""
        stamp, index = self._stamp_of(model.key, model.width), self._index
        if index is not None and self._stamp == stamp and index.seen >= at_least:
            return index
        async with self._changing:
            return await self._catch_up(stamp, at_least)

    async def _catch_up(self, stamp: SnapshotStamp, at_least: int) -> VectorIndex:
        """Call it holding ``_changing``."""
        index = self._index
        if index is None or self._stamp != stamp:
            index = await self._load_once(stamp)
            self._index, self._stamp, self._saved_at = index, stamp, index.seen
        while index.seen < at_least:
            seen = index.seen
            delta = await self._db.read(partial(self._changes_since, seen, stamp.model))
            if delta.anew:
                self._index = index = VectorIndex(stamp.width, self._settings)
            damaged = await run_in(self._pool, index.apply, delta.changes, delta.last)
            if damaged:
                await self._db.write(lambda tx, lost=damaged: embeddings.replace_damaged(tx, lost))  # type: ignore[misc]
        if index.needs_rebuild and (self._rebuild is None or self._rebuild.done()):
            self._stop_rebuild.clear()
            self._rebuild = asyncio.create_task(run_in(self._pool, index.rebuild, self._stop_rebuild))
        return index

    def _changes_since(self, seen: int, model: str, tx: Reader) -> VectorDelta:
        return embeddings.changes_since(tx, seen, model, self._shelf)

    def _stamp_of(self, model: str, width: int) -> SnapshotStamp:
        return SnapshotStamp(self._vault_id, model, width, 0)

    async def _load_once(self, stamp: SnapshotStamp) -> VectorIndex:
        index = await run_in(self._pool, self._load, stamp)
        # A snapshot newer than the rows means they were restored from a backup: it holds changes they do not.
        if index.seen > await self._db.read(embeddings.last_change):
            return VectorIndex(stamp.width, self._settings)
        return index

    def _load(self, stamp: SnapshotStamp) -> VectorIndex:
        try:
            return VectorIndex.load(self._path, stamp, self._settings)
        except SnapshotInvalid as verdict:
            if verdict.reason != "missing":
                self._db.observer.on_snapshot_refused(verdict.reason)
            # Whatever is wrong with the snapshot, the rows are the truth: start empty and replay them.
            return VectorIndex(stamp.width, self._settings)

    async def save(self) -> bool:
        """Write a snapshot if enough is new to be worth it; returns whether it was written."""
        async with self._filing:
            index = self._index
            if index is None or self._stamp is None or len(index) < SNAPSHOT_FROM or self._is_saved(index):
                return False
            # Nothing that was purged, here or by another process, may be written again.
            index, stamp = await self._newest(self._stamp)
            await run_in(self._pool, index.save, self._path, stamp)
            self._saved_at = stamp.seen
            if await self._db.read(lambda tx: embeddings.has_removed_since(tx, stamp.seen)):
                await self._remove_file()
                return False
            return True

    def _is_saved(self, index: VectorIndex) -> bool:
        return index.seen == self._saved_at and self._path.exists()

    async def _newest(self, stamp: SnapshotStamp) -> tuple[VectorIndex, SnapshotStamp]:
        """The index with every change so far applied, and its stamp."""
        async with self._changing:
            index = await self._catch_up(stamp, await self._db.read(embeddings.last_change))
        return index, replace(stamp, seen=index.seen)

    async def catch_up(self) -> None:
        """Apply what changed so far, if the index is loaded: whoever changes much does so now and then, so that no
        search has to apply all of it."""
        if self._index is not None and self._stamp is not None:
            await self._newest(self._stamp)

    async def drop(self) -> None:
        """Free the memory; the next search loads the index again."""
        async with self._changing:
            if self._rebuild is not None:
                self._stop_rebuild.set()
                await asyncio.gather(self._rebuild, return_exceptions=True)
            self._index = self._stamp = self._rebuild = None

    async def erase_removed(self) -> None:
        """After a purge: remove every trace of vectors that are gone from the saved index, and from the one in memory,
        which goes on answering. One that is only on disk is loaded first, so that the next search need not replay the
        rows. It is saved again when the vault rests or closes."""
        async with self._filing:
            stamp = self._stamp or await self._read_saved_stamp()
            try:
                if stamp is not None:
                    await self._newest(stamp)
            finally:
                await self._remove_file()

    async def _read_saved_stamp(self) -> SnapshotStamp | None:
        """The stamp a snapshot of this vault must have; None if there is no snapshot, or no vector."""
        if not self._path.exists():
            return None
        found = await self._db.read(embeddings.model_shape)
        return self._stamp_of(*found) if found is not None else None

    async def forget_snapshot(self) -> None:
        """Drop the index and its file: the next search replays the rows."""
        async with self._filing:
            await self.drop()
            await self._remove_file()

    async def _remove_file(self) -> None:
        await run_in(self._pool, snapshot.remove, self._path)

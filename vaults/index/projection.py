"""A vault's vector index in memory: loaded on first need, caught up before each answer, saved when it closes."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.context import run_in
from vaults.db.connection import Database
from vaults.embed.backend import ModelIdentity
from vaults.index import embeddings
from vaults.index.snapshot import SnapshotInvalid
from vaults.index.vectors import Stamp, VectorIndex
from vaults.settings import IndexSettings

if TYPE_CHECKING:
    import numpy as np

SNAPSHOT = "vectors.idx"
SNAPSHOT_FROM = 2_000
"""Vectors below which reading the rows is as quick as reading a file."""


class Projection:
    """Replays ``embeddings`` into a ``VectorIndex``. All FAISS work happens on ``pool``."""

    def __init__(self, folder: Path, vault_id: str, db: Database, settings: IndexSettings, pool: Executor) -> None:
        self._path = folder / SNAPSHOT
        self._vault_id = vault_id
        self._db = db
        self._settings = settings
        self._pool = pool
        self._index: VectorIndex | None = None
        self._model: ModelIdentity | None = None
        self._saved_at = 0
        self._catching_up = asyncio.Lock()
        self._rebuild: asyncio.Task[bool] | None = None
        self._stop_rebuild = threading.Event()

    @property
    def memory_bytes(self) -> int:
        """Bytes the vectors take in memory now."""
        return self._index.memory_bytes if self._index is not None else 0

    @property
    def size(self) -> int | None:
        """Vectors held, or None while the index is not loaded."""
        return len(self._index) if self._index is not None else None

    @property
    def seen(self) -> int:
        """The last change applied."""
        return self._index.seen if self._index is not None else 0

    async def search(
        self, model: ModelIdentity, query: np.ndarray, k: int, allow: np.ndarray | None = None, *, at_least: int
    ) -> list[tuple[int, float]]:
        """The ``k`` nearest passages as ``(passage, cosine)``. ``at_least`` is a change number the caller has read:
        the index is caught up to it first."""
        index = await self.current(model, at_least)
        return await run_in(self._pool, index.search, query, k, allow)

    async def current(self, model: ModelIdentity, at_least: int) -> VectorIndex:
        """The index of ``model``, having applied at least change ``at_least``."""
        if self._index is None or self._model != model or self._index.seen < at_least:
            async with self._catching_up:
                await self._catch_up(model, at_least)
        assert self._index is not None
        return self._index

    async def _catch_up(self, model: ModelIdentity, at_least: int) -> None:
        if self._index is None or self._model != model:
            self._index = await self._loaded(model)
            self._model = model
            self._saved_at = self._index.seen
        while self._index.seen < at_least:
            seen = self._index.seen
            delta = await self._db.read(lambda tx, seen=seen: embeddings.since(tx, seen, model.key))  # type: ignore[misc]
            if delta.anew:
                self._index = VectorIndex(model.width, self._settings)
            damaged = await run_in(self._pool, self._index.apply, delta.changes, delta.last)
            if damaged:
                await self._db.write(lambda tx, lost=damaged: embeddings.renew(tx, lost))  # type: ignore[misc]
        if self._index.needs_rebuild and (self._rebuild is None or self._rebuild.done()):
            self._stop_rebuild.clear()
            self._rebuild = asyncio.create_task(run_in(self._pool, self._index.rebuild, self._stop_rebuild))

    async def _loaded(self, model: ModelIdentity) -> VectorIndex:
        index = await run_in(self._pool, self._load, model)
        # A snapshot from the future lies beside rows that were restored from a backup: it knows what they do not.
        if index.seen > await self._db.read(embeddings.last_change):
            return VectorIndex(model.width, self._settings)
        return index

    def _load(self, model: ModelIdentity) -> VectorIndex:
        expected = Stamp(self._vault_id, model.key, model.width, 0)
        try:
            return VectorIndex.load(self._path, expected, self._settings)
        except SnapshotInvalid:
            # Whatever is wrong with a snapshot, the rows are the truth: start empty and replay them.
            return VectorIndex(model.width, self._settings)

    async def save(self) -> bool:
        """Write a snapshot if there is something new worth one; whether it was written."""
        index, model = self._index, self._model
        if index is None or model is None or len(index) < SNAPSHOT_FROM or index.seen == self._saved_at:
            return False
        stamp = Stamp(self._vault_id, model.key, model.width, index.seen)
        await run_in(self._pool, index.save, self._path, stamp)
        self._saved_at = stamp.seen
        return True

    async def drop(self) -> None:
        """Give the memory back; the next search loads the index again."""
        if self._rebuild is not None:
            self._stop_rebuild.set()
            await asyncio.gather(self._rebuild, return_exceptions=True)
        self._index = self._model = self._rebuild = None

    async def forget_snapshot(self) -> None:
        """Drop the index and its file: the next search replays the rows."""
        await self.drop()
        await run_in(self._pool, lambda: self._path.unlink(missing_ok=True))

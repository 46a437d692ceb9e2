"""The same work without a server: one thread, one thing after the other, nothing in between.

It runs in a process of its own with the same libraries, pragmas, model and index; it lacks the door, grants, the event
loop, filters, fusion worth the name, and the shaping of answers. That is what the limits are multiples of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaults.embed.backend import Embedder

TOP, CANDIDATES = 10, 50


@dataclass(slots=True)
class _OpenVault:
    embedder: Embedder | None = None
    connection: Any = None
    index: Any = None


_opened = _OpenVault()
"""Of the process this module's functions are called in."""


@contextmanager
def process_pool() -> Iterator[ProcessPoolExecutor]:
    """A process to call the functions below in."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_load_model).result()
        yield pool


def _load_model() -> None:
    from server.settings import export_environment
    from vaults.embed.engines import load_embedder
    from vaults.settings import EmbeddingSettings

    export_environment()
    _opened.embedder = load_embedder(EmbeddingSettings())
    for text in ("warm", "warm up a little more", "and once more, with a sentence of some length to it"):
        _opened.embedder.embed([text])


def embed_all(texts: Sequence[str]) -> bytes:
    """Vectors as float32, row by row."""
    assert _opened.embedder is not None
    return b"".join(_opened.embedder.embed(texts[at : at + 64]).tobytes() for at in range(0, len(texts), 64))


def open_vault(folder: Path, vault_id: str) -> int:
    """Open the database for reading and the vault's own snapshot of the index, which a small one does without: its rows
    are read instead. Returns the vectors in it."""
    from vaults.db.connection import open_raw
    from vaults.index.vector_index import SnapshotStamp, VectorChange, VectorIndex
    from vaults.settings import IndexSettings, StorageSettings

    assert _opened.embedder is not None
    model = _opened.embedder.identity
    _opened.connection = open_raw(folder / "vault.db", StorageSettings(), writer=False)
    snapshot = folder / "vectors.idx"
    if snapshot.exists():
        expected = SnapshotStamp(vault_id, model.key, model.width, 0)
        _opened.index = VectorIndex.load(snapshot, expected, IndexSettings())
    else:
        rows = _opened.connection.execute("SELECT passage, vector FROM embeddings").fetchall()
        _opened.index = VectorIndex(model.width, IndexSettings())
        _opened.index.apply([VectorChange(passage, vector) for passage, vector in rows], 1)
    return len(_opened.index)


def recall_all(queries: Sequence[str]) -> list[dict[str, float]]:
    """Each query through the bare sequence; seconds by stage, of all, and of the processor (``cpu``)."""
    return [_recall(query) for query in queries]


def _recall(query: str) -> dict[str, float]:
    from vaults.search.query import parse_query

    assert _opened.embedder is not None
    began, clock = time.process_time(), [time.perf_counter()]
    vector = _opened.embedder.embed([query])[0]
    clock.append(time.perf_counter())
    words = _opened.connection.execute(
        "SELECT rowid, bm25(passages_fts, 2.0, 1.0, 0.5) AS score FROM passages_fts"
        f" WHERE passages_fts MATCH :match ORDER BY score LIMIT {CANDIDATES}",
        {"match": parse_query(query).match},
    ).fetchall()
    clock.append(time.perf_counter())
    near = _opened.index.search(vector, CANDIDATES)
    clock.append(time.perf_counter())
    ranks: dict[int, float] = {}
    for ranked in (words, near):
        for place, (passage, _) in enumerate(ranked):
            ranks[passage] = ranks.get(passage, 0.0) + 1 / (60 + place)
    best = sorted(ranks, key=ranks.__getitem__, reverse=True)[:TOP]
    some = ", ".join(map(str, best))
    _opened.connection.execute(
        "SELECT m.id, m.title, m.content, m.author, m.created_at FROM passages p JOIN memories m ON m.seq = p.item"
        f" WHERE p.seq IN ({some})"
    ).fetchall()
    clock.append(time.perf_counter())
    stages = dict(zip(("embed", "words", "vectors", "fetch"), _stage_seconds(clock), strict=True))
    return {**stages, "all": clock[-1] - clock[0], "cpu": time.process_time() - began}


def open_for_writing(folder: Path) -> None:
    """Open a vault's database as the server's writer does, fsync at each commit included."""
    from vaults.db.connection import open_raw
    from vaults.settings import StorageSettings

    _opened.connection = open_raw(folder / "vault.db", StorageSettings(), writer=True)


def remember_all(texts: Sequence[str]) -> list[dict[str, float]]:
    """Each text embedded, then the rows the server would write in one durable transaction; seconds by stage."""
    return [_remember(text) for text in texts]


def _remember(text: str) -> dict[str, float]:
    from bench.data_folders import ACTOR, CLOSED_VAULT
    from vaults.db.sql import Writer
    from vaults.domain.memories import storage
    from vaults.domain.memories.memory_model import MemoryFields

    assert _opened.embedder is not None
    prepared = storage.prepare(CLOSED_VAULT, ACTOR, MemoryFields(content=text))
    clock = [time.perf_counter()]
    vectors = [row.tobytes() for row in _opened.embedder.embed([text])]
    clock.append(time.perf_counter())
    raw = _opened.connection
    raw.execute("BEGIN IMMEDIATE")
    storage.insert(Writer(raw), ACTOR, prepared, vectors, _opened.embedder.identity.key)
    raw.execute("COMMIT")
    clock.append(time.perf_counter())
    return {**dict(zip(("embed", "commit"), _stage_seconds(clock), strict=True)), "all": clock[-1] - clock[0]}


def embed_concurrently(texts: Sequence[str], callers: int) -> float:
    """Texts per second of the embedding service alone, asked by ``callers`` at a time, one text each."""
    import asyncio

    return asyncio.run(_embed_concurrently(texts, callers))


async def _embed_concurrently(texts: Sequence[str], callers: int) -> float:
    import asyncio

    from vaults.embed.service import EmbeddingService
    from vaults.observer import NullObserver
    from vaults.settings import EmbeddingSettings

    service = EmbeddingService(EmbeddingSettings(), NullObserver())
    try:
        await service.warm()
        left = iter(texts)

        async def ask() -> None:
            for text in left:
                await service.texts([text], urgent=True)

        began = time.perf_counter()
        await asyncio.gather(*(ask() for _ in range(callers)))
        return len(texts) / (time.perf_counter() - began)
    finally:
        await service.close()


def _stage_seconds(clock: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(clock)]

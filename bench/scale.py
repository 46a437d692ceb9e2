"""A million passages in one process, without a server: processor time of a search, recall, and waiting for an index.

Texts are made up and vectors are mixtures of real ones, as in ``bench.recalls``.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import baseline, bulk_rows, data_folders
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import p50, p99, to_ms
from bench.run import Run
from server.services import open_services
from server.tools import discover
from vaults import clock
from vaults.index import embeddings
from vaults.index.vector_index import VectorChange, VectorIndex
from vaults.search.filters import SearchFilter
from vaults.search.pipeline import search
from vaults.search.question import SearchQuestion, SearchRanking
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault

if TYPE_CHECKING:
    import numpy as np

MANY, FEW = 1_000_000, 10_000
REAL = 2_000
QUERIES, WARM, JUDGED = 200, 20, 50
TOP = 10
WIDTH = 384
CPU_MS, RECALL, WAIT_MS, STAGE_MS = 100.0, 0.98, 100.0, 3.0


@dataclass(frozen=True, slots=True)
class SearchCost:
    """One search: seconds of the wall and of the processor, all threads, and wall seconds by stage."""

    wall: float
    cpu: float
    stages: dict[str, float]


def measure(run: Run) -> Iterator[Figure]:
    """10,000 for the stages, a million for the rest."""
    with baseline.process_pool() as pool:
        yield from asyncio.run(_measure_few(run, pool))
        yield from asyncio.run(_measure_many(run, pool))


async def _measure_few(run: Run, pool: ProcessPoolExecutor) -> list[Figure]:
    async with _open_filled(run, pool, run.sized(FEW, 2_500)) as (vault, size):
        took = [await _search(vault, query) for query in _queries(size, run.sized(QUERIES, 40))]
    stages: dict[str, list[float]] = defaultdict(list)
    for each in took:
        for name, seconds in each.stages.items():
            stages[name].append(seconds)
    middle = {name: p50(seconds) for name, seconds in stages.items()}
    raw = ", ".join(f"{name} {to_ms(seconds)}" for name, seconds in middle.items())
    slowest = max(seconds for name, seconds in middle.items() if name != "embed")
    return [
        Figure(
            f"search, {size:,} passages, slowest stage but embed",
            slowest * 1e3,
            limit=STAGE_MS,
            sense="<=",
            unit="ms",
            raw=raw,
        )
    ]


async def _measure_many(run: Run, pool: ProcessPoolExecutor) -> list[Figure]:
    async with _open_filled(run, pool, run.sized(MANY, 60_000)) as (vault, size):
        queries = _queries(size, run.sized(QUERIES, 40))
        with run.report_progress(f"search {size:,}"):
            quiet = [await _search(vault, query) for query in queries]
        with run.report_progress("judge against exact"):
            judged = await _measure_recall(vault, queries[:JUDGED])
        with run.report_progress("search beside a rebuild"):
            again = [await _search(vault, query) for query in queries]  # the model's answers are kept by now
            busy, lasted = await _search_during_rebuild(vault, queries)
    return [_cpu(size, quiet), judged, _waiting_figure(size, again, busy, lasted)]


def _cpu(size: int, took: Sequence[SearchCost]) -> Figure:
    cpu, wall = [each.cpu for each in took], [each.wall for each in took]
    raw = f"p99 {to_ms(p99(cpu))}; wall p50 {to_ms(p50(wall))}, p99 {to_ms(p99(wall))}; {len(took)} fresh queries"
    return Figure(
        f"search, {size:,} passages, p50 of processor time",
        p50(cpu) * 1e3,
        limit=CPU_MS,
        sense="<=",
        unit="ms",
        raw=raw,
    )


def _waiting_figure(
    size: int, quiet: Sequence[SearchCost], busy: Sequence[tuple[int, SearchCost]], lasted: float
) -> Figure:
    """Waiting is what a query takes longer than itself when all is quiet: a few take 100 ms of work by themselves."""
    walls, alone = [each.wall for _, each in busy], [each.wall for each in quiet]
    waited = [each.wall - quiet[number].wall for number, each in busy]
    raw = (
        f"p99 {to_ms(p99(waited))}; searches took p50 {to_ms(p50(walls))}, longest {to_ms(max(walls))}, when quiet"
        f" {to_ms(p50(alone))} and {to_ms(max(alone))}; {len(busy)} queries in the {lasted:.1f} s of the rebuild"
    )
    name = f"search, {size:,} passages, longest wait for a rebuild beside it"
    numbers = {"longest_over_quiet_p50_s": max(walls) - p50(alone)}
    return Figure(name, max(waited) * 1e3, limit=WAIT_MS, sense="<=", unit="ms", raw=raw, numbers=numbers)


@asynccontextmanager
async def _open_filled(run: Run, pool: ProcessPoolExecutor, size: int) -> AsyncIterator[tuple[Vault, int]]:
    """A vault of ``size`` passages, searched a few times already."""
    with run.folder("scale") as folder:
        with run.report_progress(f"store {size:,} passages"):
            data = await asyncio.to_thread(_store, folder / "data", pool, size)
        loaded = data_folders.default_settings(data)
        async with (
            open_services(loaded.settings, data, discover()) as services,
            services.pool.lease(services.registry_cache.entry("main")) as vault,
        ):
            await services.embedder.warm()
            await vault.adopt_model()
            for query in _queries(size + 1, WARM):
                await _search(vault, query)
            yield vault, size


def _store(data: Path, pool: ProcessPoolExecutor, size: int) -> Path:
    data_folders.prepare_folder(data, {"ann": ("main",)})
    bulk_rows.fill(data, "main", _pairs(pool, size))
    return data


def _pairs(pool: ProcessPoolExecutor, size: int) -> Iterator[bulk_rows.Pair]:
    import numpy as np

    writer = TextWriter(seed=size)
    first = [writer.sentence() for _ in range(REAL)]
    real = np.frombuffer(pool.submit(baseline.embed_all, first).result(), np.float32).reshape(-1, WIDTH)
    texts = itertools.chain(first, (writer.sentence() for _ in range(size - REAL)))
    vectors = itertools.chain((row.tobytes() for row in real), data_folders.mixtures(real, size - REAL))
    return zip(texts, vectors, strict=True)


def _queries(seed: int, count: int) -> list[str]:
    writer = TextWriter(seed=seed + 1)
    return [writer.query() for _ in range(count)]


async def _search(vault: Vault, query: str) -> SearchCost:
    question = SearchQuestion(query, "hybrid", SearchFilter("bench", clock.now(), kinds=("memory",)), TOP)
    timings = StageTimings(vault.shared.observer)
    vault.rankings.clear()  # a query that was asked before must not be cheaper
    wall, cpu = time.perf_counter(), time.process_time()
    found = await search(vault.engines, question, lambda _, ranking: ranking, timings)
    took = SearchCost(time.perf_counter() - wall, time.process_time() - cpu, dict(timings.seconds))
    _expect_whole(found)
    return took


def _expect_whole(found: SearchRanking) -> None:
    if found.mode != "hybrid" or len(found.items) < TOP:
        raise RuntimeError(f"no whole answer: {found.mode}, {len(found.items)} items")


async def _measure_recall(vault: Vault, queries: Sequence[str]) -> Figure:
    """Of the ten nearest of all stored vectors, how many the index names first."""
    import numpy as np

    index = await _index(vault)
    vectors = np.stack([await vault.embedder.query(query) for query in queries])
    exact = await vault.db.read(lambda tx: _exact(tx, vectors))
    shares = []
    for vector, wanted in zip(vectors, exact, strict=True):
        found = {passage for passage, _ in await asyncio.to_thread(index.search, vector, TOP)}
        shares.append(len(found & wanted) / TOP)
    raw = f"{len(queries)} queries, worst {min(shares):.1f}; {index.memory_bytes / 2**20:.0f} MiB of index"
    return Figure(
        f"vectors, {len(index):,}, R@10 against exact",
        float(np.mean(shares)),
        limit=RECALL,
        sense=">=",
        unit="",
        raw=raw,
    )


def _exact(tx: Any, vectors: np.ndarray) -> list[set[int]]:
    import numpy as np

    best = [(np.empty(0, np.int64), np.empty(0, np.float32)) for _ in vectors]
    after = 0
    while rows := tx.all(
        "SELECT passage, vector FROM embeddings WHERE passage > :after ORDER BY passage LIMIT 20000", {"after": after}
    ):
        after, _ = rows[-1]
        ids = np.array([passage for passage, _ in rows], np.int64)
        scores = np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(-1, WIDTH) @ vectors.T
        best = [_top(held, ids, scores[:, number]) for number, held in enumerate(best)]
    return [set(ids.tolist()) for ids, _ in best]


def _top(held: tuple[np.ndarray, np.ndarray], ids: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    every, all_scores = np.concatenate([held[0], ids]), np.concatenate([held[1], scores])
    order = np.argsort(-all_scores)[:TOP]
    return every[order], all_scores[order]


async def _index(vault: Vault) -> VectorIndex:
    model = vault.embedder.identity
    assert model is not None
    return await vault.projection.current(model, await vault.db.read(embeddings.last_change))


async def _search_during_rebuild(vault: Vault, queries: Sequence[str]) -> tuple[list[tuple[int, SearchCost]], float]:
    """Replace so many vectors by themselves that the compressed part is due, and search while it is built anew."""
    index, seen = await _index(vault), 0
    while not index.needs_rebuild:
        changes = await vault.db.read(lambda tx, seen=seen: embeddings.changes_since(tx, seen, _model(vault)))  # type: ignore[misc]
        seen = changes.last
        again = [VectorChange(each.passage, each.vector) for each in changes.changes]
        await asyncio.to_thread(index.apply, again, index.seen)
    began = time.perf_counter()
    rebuild = asyncio.ensure_future(asyncio.to_thread(index.rebuild))
    took = []
    for number in itertools.cycle(range(len(queries))):
        took.append((number, await _search(vault, queries[number])))
        if rebuild.done():
            break
    if not await rebuild:
        raise RuntimeError("nothing was rebuilt")
    return took, time.perf_counter() - began


def _model(vault: Vault) -> str:
    model = vault.embedder.identity
    return model.key if model else ""

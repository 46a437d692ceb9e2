"""100,000 passages of documents beside memories: what they cost a recall, and what letting them go costs anybody.

Two servers on copies of one data folder, one with the documents, answer the same fresh queries in turns. Then the
second is started under a limit that a tenth as many more fit, and its background job lets the rest go beside calls.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bench import baseline, data_folders, recalls, servers
from bench.data_folders import DataFolder
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import MIB, blocks, p50, p99, to_ms
from bench.run import Run
from bench.wire import RawConnection, VaultEndpoint, result_of
from server.services import open_services
from server.tools import discover
from vaults import clock
from vaults.db.connection import open_raw
from vaults.db.sql import Reader, Writer
from vaults.domain.documents import storage
from vaults.domain.documents.document_model import DocumentFields, DocumentPart
from vaults.domain.maintenance import eviction, eviction_log
from vaults.index import embeddings
from vaults.settings import StorageSettings
from vaults.vault import Vault

T = TypeVar("T")

MEMORIES, PASSAGES, PARTS = 10_000, 100_000, 100
KEPT = 10
"""One part in so many more is kept."""

SENTENCES = 5
"""Of a part: a passage of some 70 words."""

QUERIES, BLOCK, WARM = 400, 20, 20
SLOWER, LONGEST_MS = 1.05, 50.0
QUIET_S = 5.0
PATIENCE_S = 1_800.0


def measure(run: Run) -> Iterator[Figure]:
    """Vectors are mixtures of real ones, as in ``bench.recalls``."""
    memories, passages = run.sized(MEMORIES, 1_000), run.sized(PASSAGES, 5_000)
    with run.folder("evictions") as folder, baseline.process_pool() as pool:
        ready = data_folders.prepare_folder(folder / "without", {"ann": ("main",)})
        with run.report_progress(f"store {memories:,} memories"):
            data_folders.fill(ready.data, "main", recalls.make_items(pool, memories))
        held = DataFolder(folder / "with", ready.tokens)
        shutil.copytree(ready.data, held.data)
        with run.report_progress(f"store {passages:,} passages of documents"):
            _add_documents(pool, held.data, passages + passages // KEPT)
        with run.report_progress("recall with and without them"):
            yield _measure_recall(ready, held, (memories, passages + passages // KEPT), run.sized(QUERIES, 80))
        with run.report_progress(f"let {passages:,} passages go"):
            yield from _measure_eviction(held, passages)


def _add_documents(pool: ProcessPoolExecutor, data: Path, passages: int) -> None:
    import asyncio

    asyncio.run(_store_documents(pool, data, passages))


async def _store_documents(pool: ProcessPoolExecutor, data: Path, passages: int) -> None:
    import numpy as np

    writer, at = TextWriter(seed=passages), clock.now()
    some = [writer.sentence() for _ in range(recalls.REAL)]
    real = np.frombuffer(pool.submit(baseline.embed_all, some).result(), np.float32).reshape(-1, 384)
    vectors = iter(data_folders.mixtures(real, passages + 10 * PARTS))
    loaded = data_folders.default_settings(data, **{"storage.synchronous": "normal"})
    async with (
        open_services(loaded.settings, data, discover()) as services,
        services.pool.lease(services.registry_cache.entry("main")) as vault,
    ):
        model = await services.embedder.warm()
        await vault.adopt_model()
        for number in range(passages // PARTS):
            parts = [
                DocumentPart(n, " ".join(writer.sentence() for _ in range(SENTENCES)), f"Part {n}", f"page {n}")
                for n in range(PARTS)
            ]
            fields = DocumentFields("document", "text", f"Document {number}", at, at, external_id=f"doc-{number}")
            prepared = storage.prepare(vault, fields, parts)

            def write(tx: Writer, prepared: storage.PreparedDocument = prepared) -> None:
                storage.insert(vault, tx, data_folders.ACTOR, prepared)
                new = embeddings.next_missing(tx, 10 * PARTS)
                embeddings.store(tx, model.key, [(each.passage, each.text_hash, next(vectors)) for each in new])

            await vault.db.write(write)
        await _settle(vault)


async def _settle(vault: Vault) -> None:
    last = await vault.db.read(embeddings.last_change)
    for each in vault.projections:
        model = vault.embedder.identity
        assert model is not None
        await each.current(model, last)
    await vault.settle()
    await vault.db.checkpoint()


def _ask(line: RawConnection, endpoint: VaultEndpoint, query: str, tool: str = "recall", **more: Any) -> float:
    seconds, body = line.timed(endpoint.call(tool, {"query": query, **more}))
    result_of(body)
    return seconds


def _ask_all(endpoint: VaultEndpoint, queries: Sequence[str]) -> list[float]:
    """Over a connection of their own: one that waits for its turn would be closed."""
    with RawConnection(endpoint.port) as line:
        return [_ask(line, endpoint, query) for query in queries]


def _measure_recall(without: DataFolder, held: DataFolder, sizes: tuple[int, int], count: int) -> Figure:
    writer = TextWriter(seed=5)
    with ExitStack() as stack:
        doors = []
        for folder in (without, held):
            server = stack.enter_context(servers.run_server(servers.SERVE, folder.data))
            doors.append(VaultEndpoint(server.port, "main", folder.tokens["ann"]))
        warm = [writer.query() for _ in range(WARM)]
        for door in doors:
            _ask_all(door, warm)
        fresh = [writer.query() for _ in range(count)]
        took: tuple[list[float], list[float]] = ([], [])
        for turn, some in enumerate(blocks(count, BLOCK)):
            for which in (0, 1) if turn % 2 else (1, 0):  # neither is always the first to meet a query
                took[which].extend(_ask_all(doors[which], [fresh[number] for number in some]))
    alone, beside = took
    memories, passages = sizes
    raw = (
        f"p50 {to_ms(p50(beside))} ÷ {to_ms(p50(alone))}, p99 {to_ms(p99(beside))} and {to_ms(p99(alone))};"
        f" {count} fresh queries"
    )
    name = f"recall, {memories:,} memories, beside {passages:,} passages of documents ÷ without"
    numbers = {"with_p50_s": p50(beside), "without_p50_s": p50(alone)}
    return Figure(name, p50(beside) / p50(alone), SLOWER, "<=", "×", raw, numbers)


def _measure_eviction(held: DataFolder, passages: int) -> Iterator[Figure]:
    path = held.data / "vaults" / "main" / "vault.db"
    before = path.stat().st_size
    quiet = _drive(held, {}, lambda since: since > QUIET_S)
    began = time.perf_counter()
    size = _read(held, lambda tx: int(tx.value("SELECT SUM(size) FROM documents")))
    limit = f'{{"document": {{"max_size": "{size // (KEPT + 1)}B"}}}}'
    busy = _drive(held, {"storage.kinds": limit}, partial(_is_done, held, passages // PARTS))
    seconds, after = time.perf_counter() - began, path.stat().st_size
    for name, times in busy.items():
        alone = quiet[name]
        without = f"when quiet p50 {to_ms(p50(alone))}, longest {to_ms(max(alone))} of {len(alone)}"
        raw = f"p50 {to_ms(p50(times))}, p99 {to_ms(p99(times))} of {len(times)} calls; {without}"
        numbers = {"p50_s": p50(times), "p99_s": p99(times), "quiet_longest_s": max(alone), "times": times}
        title = f"longest {name} while {passages:,} passages go"
        yield Figure(title, max(times) * 1000, LONGEST_MS, "<=", "ms", raw, numbers)
    raw = f"{before / MIB:.0f} MiB before, {after / MIB:.0f} MiB after, {(before - after) / MIB:.0f} MiB given back"
    name = f"eviction of {passages:,} passages beside calls"
    yield Figure(name, seconds, unit="s", raw=raw, numbers={"bytes_before": before, "bytes_after": after})


def _drive(held: DataFolder, flags: dict[str, Any], is_done: Callable[[float], bool]) -> dict[str, list[float]]:
    """Calls one after the other until it is done: seconds of each, by kind."""
    writer = TextWriter(seed=int(time.time()))
    took: dict[str, list[float]] = {"recall": [], "search of documents": [], "remember": []}
    with (
        servers.run_server(servers.SERVE, held.data, **flags) as server,
        RawConnection(server.port) as line,
    ):
        endpoint = VaultEndpoint(server.port, "main", held.tokens["ann"])
        ask = partial(_ask, line, endpoint)
        for tool, more in (("recall", {}), ("search", {"kinds": ["document"]})):  # model and vectors are loaded
            for _ in range(WARM // 4):
                ask(writer.query(), tool, **more)
        began = looked = time.perf_counter()
        while True:
            for _ in range(8):
                took["recall"].append(ask(writer.query()))
            took["search of documents"].append(ask(writer.query(), "search", kinds=["document"]))
            took["remember"].append(line.timed(endpoint.call("remember", {"content": writer.sentence()}))[0])
            now = time.perf_counter()
            if now - began > PATIENCE_S:
                raise RuntimeError("it does not end")
            if now - looked > 0.5:
                looked = now
                if is_done(now - began):
                    return took


def _is_done(held: DataFolder, documents: int, _since: float) -> bool:
    """Whether what the limit does not allow went, and the room was given back."""

    def look(tx: Reader) -> bool:
        gone = int(tx.value("SELECT COUNT(*) FROM evictions WHERE state = 'gone'"))
        ended = eviction_log.find_unfinished(tx) is None and not eviction.is_tidying_due(tx)
        return gone >= documents - 5 and ended

    return _read(held, look)


def _read(held: DataFolder, look: Callable[[Reader], T]) -> T:
    raw = open_raw(held.data / "vaults" / "main" / "vault.db", StorageSettings(), writer=False)
    try:
        return look(Reader(raw))
    finally:
        raw.close()

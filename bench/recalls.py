"""``recall`` through HTTP beside the bare sequence, over a small vault, 10,000 and 100,000 memories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from bench import baseline, data_folders, servers
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import blocks, cpu_seconds, p50, p99, to_ms
from bench.run import Run
from bench.wire import RawConnection, VaultEndpoint, result_of
from vaults.domain.memories.memory_model import MemoryFields

SIZES = {370: None, 10_000: 1.25, 100_000: 1.15}
"""Memories, and what a recall among them may take, as a multiple of the bare sequence."""

CPU_LIMIT, CPU_UP_TO = 1.4, 10_000
"""Processor time of a recall over that of the bare sequence, and up to how many memories that is asked for."""

REPEATED = 3.0
REAL = 2_000
"""Texts whose vectors are real; those of the rest are mixtures of them, which costs the index the same."""

FIRST_AMONG, FIRST_RUNS, FIRST_S = 10_000, 7, 0.8
"""Memories up to which the first recall after a start is timed, starts, and seconds it may take."""

QUERIES = 200
BLOCK = 20
WARM = 20

SETTLE_S = 5.0
"""Longer than a server takes, after its first call, to import the tools that nobody called: once in its life, and no
part of what a recall costs."""


def measure(run: Run) -> Iterator[Figure]:
    """One client. Both sides get the same fresh queries and take turns by blocks of 20."""
    for size, limit in SIZES.items():
        yield from _measure_size(run, run.sized(size, min(size, 2_500)), limit)


def _measure_size(run: Run, size: int, limit: float | None) -> Iterator[Figure]:
    with run.folder("recall") as folder, baseline.process_pool() as pool:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with run.report_progress(f"store {size:,} memories"):
            data_folders.fill(ready.data, "main", make_items(pool, size))
        vault = ready.data / "vaults" / "main"
        held = pool.submit(baseline.open_vault, vault, read_vault_id(vault)).result()
        if held != size:
            raise RuntimeError(f"{held} vectors of {size}")
        with (
            servers.run_server(servers.SERVE, ready.data) as server,
            RawConnection(server.port) as line,
            run.report_progress(f"recall among {size:,}"),
        ):
            ask = partial(_ask, line, VaultEndpoint(server.port, "main", ready.tokens["ann"]))
            taken = _take_turns(pool, ask, server.pid, _writer(size), run.sized(QUERIES, 40))
            if size <= CPU_UP_TO:
                yield taken.cpu(size)
            if limit is not None:
                yield from taken.wall(size, limit)
        if limit is not None and size <= FIRST_AMONG:
            yield _measure_first(run, ready, size)


def _measure_first(run: Run, ready: data_folders.DataFolder, size: int) -> Figure:
    """Asked as soon as a new process says that it is ready: vault, index and model are opened for it."""
    writer, took = TextWriter(seed=size + 2), []
    for _ in range(run.sized(FIRST_RUNS, 2)):
        with servers.run_server(servers.SERVE, ready.data) as server, RawConnection(server.port) as line:
            took.append(_ask(line, VaultEndpoint(server.port, "main", ready.tokens["ann"]), writer.query()))
    raw = f"{', '.join(map(to_ms, sorted(took)))}, each in a new process that just said it is ready"
    name = f"first recall after a start, {size:,} memories"
    return Figure(name, p50(took), FIRST_S, unit="s", raw=raw, numbers={"first_s": took})


def make_items(pool: ProcessPoolExecutor, size: int) -> Iterator[data_folders.SeedMemory]:
    import numpy as np

    writer = TextWriter(seed=size)
    texts = [writer.sentence() for _ in range(size)]
    real = np.frombuffer(pool.submit(baseline.embed_all, texts[:REAL]).result(), np.float32).reshape(-1, 384)
    vectors = [*(row.tobytes() for row in real), *data_folders.mixtures(real, size - len(real))]
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        yield data_folders.SeedMemory(MemoryFields(content=text, external_id=f"item-{number}"), vector)


def read_vault_id(folder: Path) -> str:
    from vaults.db.connection import open_raw
    from vaults.settings import StorageSettings

    raw = open_raw(folder / "vault.db", StorageSettings(), writer=False)
    try:
        return str(raw.execute("SELECT value FROM vault_info WHERE key = 'vault_id'").fetchone()[0])
    finally:
        raw.close()


def _ask(connection: RawConnection, endpoint: VaultEndpoint, query: str) -> float:
    seconds, body = connection.timed(endpoint.call("recall", {"query": query}))
    found = result_of(body)
    if found["mode_used"] != "hybrid" or not found["hits"]:
        raise RuntimeError(f"no hybrid answer: {found['mode_used']}, {len(found['hits'])} hits")
    return seconds


def _writer(size: int) -> TextWriter:
    return TextWriter(seed=size + 1)


@dataclass(frozen=True, slots=True)
class _RecallTimes:
    """Seconds of each fresh query through the server, of the same alone by stage, and of the last ones asked again;
    ``cpu_s``: of the server for all fresh queries."""

    first: list[float]
    alone: list[dict[str, float]]
    again: list[float]
    cpu_s: float

    def cpu(self, size: int) -> Figure:
        """Processor time beside that of the bare sequence: means, so that what runs behind the answers counts."""
        own, bare = self.cpu_s / len(self.first), mean(row["cpu"] for row in self.alone)
        raw = f"mean {to_ms(own)} ÷ {to_ms(bare)}; {len(self.first)} fresh queries"
        name = f"recall, {size:,} memories, processor time ÷ bare sequence"
        return Figure(name, own / bare, CPU_LIMIT, unit="×", raw=raw, numbers={"cpu_s": own, "bare_cpu_s": bare})

    def wall(self, size: int, limit: float) -> Iterator[Figure]:
        """What a caller waits, and what asking again gains."""
        first, base = self.first, p50([row["all"] for row in self.alone])
        stages = (name for name in self.alone[0] if name not in ("all", "cpu"))
        parts = ", ".join(f"{stage} {to_ms(p50([row[stage] for row in self.alone]))}" for stage in stages)
        raw = f"p50 {to_ms(p50(first))} (p99 {to_ms(p99(first))}) ÷ {to_ms(base)} ({parts}); {len(first)} fresh queries"
        numbers = {"p50_s": p50(first), "p99_s": p99(first), "bare_p50_s": base, "queries": len(first)}
        name = f"recall, {size:,} memories"
        yield Figure(f"{name}, p50 ÷ bare sequence", p50(first) / base, limit, unit="×", raw=raw, numbers=numbers)
        again = self.again
        raw = f"first {to_ms(p50(first))} ÷ again {to_ms(p50(again))}, the last {len(again)} asked once more"
        yield Figure(
            f"{name}, first run ÷ repeated",
            p50(first) / p50(again),
            limit=REPEATED,
            sense=">=",
            unit="×",
            raw=raw,
            numbers={"again_p50_s": p50(again)},
        )


def _take_turns(
    pool: ProcessPoolExecutor, ask: Callable[[str], float], pid: int, writer: TextWriter, count: int
) -> _RecallTimes:
    for query in (warm := [writer.query() for _ in range(WARM)]):
        ask(query)
    pool.submit(baseline.recall_all, warm).result()
    time.sleep(SETTLE_S)
    fresh = [writer.query() for _ in range(count)]
    first, alone, cpu_s = [], [], 0.0
    for some in blocks(count, BLOCK):
        before = cpu_seconds(pid)
        first += [ask(fresh[number]) for number in some]
        cpu_s += cpu_seconds(pid) - before
        alone += pool.submit(baseline.recall_all, [fresh[number] for number in some]).result()
    return _RecallTimes(first, alone, [ask(query) for query in fresh[-100:]], cpu_s)

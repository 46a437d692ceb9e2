"""16 writers and 16 searchers at once: what each side gets, how long its slowest wait, and that memory stays flat.

The rates wanted are twice those of the machine the issue was written on, so they say little on another; the ratio does:
what both sides got, in seconds of the bare sequences on one core each, of the seconds that two cores had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from bench import baseline, data_folders, recalls, servers, wire
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import MIB, p50, p99, resident_bytes, to_ms
from bench.run import Run
from bench.wire import LoadResult, RequestLoad, VaultEndpoint

EACH, MEMORIES, CORES = 16, 2_106, 2
BURST, ROUNDS = 640, 4
STORES, RECALLS, TAIL = 90.0, 80.0, 5.0
FLAT_CALLS, WARM_CALLS, GROWTH_KIB = 6_000, 6_000, 512.0
"""Stores and recalls in turns after as many that fill the caches, of which that of queries takes longest, and KiB a
thousand of them may add besides vectors: the index has room to spare, and takes it in steps."""

VECTOR = 384 * 4
NAME = f"{EACH} writers and {EACH} searchers"


@dataclass(frozen=True, slots=True)
class _Mixed:
    """What both sides got in one round."""

    stores: LoadResult
    recalls: LoadResult

    @property
    def rates(self) -> tuple[float, float]:
        return _rate(self.stores), _rate(self.recalls)


def _rate(driven: LoadResult) -> float:
    return len(driven.seconds) / driven.wall


def measure(run: Run) -> Iterator[Figure]:
    """Two driver processes, one a side. After the first round each side gets as many requests as keep it busy as long
    as the other."""
    size = run.sized(MEMORIES, 500)
    with run.folder("writers") as folder, ExitStack() as open_now:
        pool = open_now.enter_context(baseline.process_pool())
        drivers = [open_now.enter_context(wire.driver()) for _ in range(2)]
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main", "other")})
        with run.report_progress(f"store {size:,} memories"):
            data_folders.fill(ready.data, "main", recalls.make_items(pool, size))
        vaults = ready.data / "vaults"
        server = open_now.enter_context(servers.run_server(servers.SERVE, ready.data))
        door, writer = VaultEndpoint(server.port, "main", ready.tokens["ann"]), TextWriter(seed=32)
        with run.report_progress(NAME):
            burst = run.sized(BURST, 100)
            first = _drive(drivers, door, writer, (burst // 2, burst // 2))
            rounds = [_drive(drivers, door, writer, _share(first, burst)) for _ in range(run.sized(ROUNDS, 2))]
        pool.submit(baseline.open_vault, vaults / "main", recalls.read_vault_id(vaults / "main")).result()
        recall_s = p50(
            [row["all"] for row in pool.submit(baseline.recall_all, [writer.query() for _ in range(60)]).result()]
        )
        pool.submit(baseline.open_for_writing, vaults / "other").result()
        store_s = p50(
            [row["all"] for row in pool.submit(baseline.remember_all, [writer.sentence() for _ in range(60)]).result()]
        )
        yield from _figures(rounds, store_s, recall_s)
        with run.report_progress("memory under load"):
            yield _measure_growth(run, drivers[0], door, server.pid, writer)


def _share(first: _Mixed, burst: int) -> tuple[int, int]:
    stores, found = first.rates
    return max(EACH, round(burst * stores / (stores + found))), max(EACH, round(burst * found / (stores + found)))


def _drive(
    drivers: Sequence[ProcessPoolExecutor], door: VaultEndpoint, writer: TextWriter, counts: tuple[int, int]
) -> _Mixed:
    asked = (
        [door.call("remember", {"content": writer.sentence()}) for _ in range(counts[0])],
        [door.call("recall", {"query": writer.query()}) for _ in range(counts[1])],
    )
    begun = [
        driver.submit(wire.drive, RequestLoad(door.port, EACH, requests, 512))
        for driver, requests in zip(drivers, asked, strict=True)
    ]
    stores, found = (each.result() for each in begun)
    if stores.failures or found.failures:
        raise RuntimeError(f"{stores.failures} stores and {found.failures} recalls failed")
    return _Mixed(stores, found)


def _figures(rounds: Sequence[_Mixed], store_s: float, recall_s: float) -> Iterator[Figure]:
    pairs = [each.rates for each in rounds]
    for side, (name, least) in enumerate((("stores", STORES), ("recalls", RECALLS))):
        rates = [pair[side] for pair in pairs]
        raw = "; ".join(f"{rate:.0f}/s" for rate in rates) + f"; {least:g} are twice what it was on two slow cores"
        yield Figure(f"{NAME}, {name}", p50(rates), limit=least, sense=">=", unit="/s", raw=raw)
    for name, loads in (("stores", [each.stores for each in rounds]), ("recalls", [each.recalls for each in rounds])):
        tails = [p99(load.seconds) / p50(load.seconds) for load in loads]
        raw = "; ".join(f"{to_ms(p99(load.seconds))} ÷ {to_ms(p50(load.seconds))}" for load in loads)
        yield Figure(f"{NAME}, {name}, p99 ÷ p50", p50(tails), TAIL, unit="×", raw=raw)
    shares = [(stores * store_s + found * recall_s) / CORES for stores, found in pairs]
    raw = f"bare store {to_ms(store_s)}, bare recall {to_ms(recall_s)}, alone, one after the other; of {CORES} cores"
    yield Figure(f"{NAME}, bare work done ÷ cores", p50(shares), limit=0.7, sense=">=", unit="×", raw=raw)


def _measure_growth(run: Run, driver: ProcessPoolExecutor, door: VaultEndpoint, pid: int, writer: TextWriter) -> Figure:
    """Resident memory before and after, once caches are full; less the vectors that were stored."""
    _call(driver, door, writer, run.sized(WARM_CALLS, 300))
    count, before = run.sized(FLAT_CALLS, 600), resident_bytes(pid)
    _call(driver, door, writer, count)
    after = resident_bytes(pid)
    grown = (after - before - count // 2 * VECTOR) / 1024 / (count / 1_000)
    raw = f"{before / MIB:.0f} → {after / MIB:.0f} MiB over {count:,} calls, every other a store"
    return Figure("resident, grown in a thousand calls", grown, GROWTH_KIB, unit="KiB", raw=raw)


def _call(driver: ProcessPoolExecutor, door: VaultEndpoint, writer: TextWriter, count: int) -> None:
    requests = [
        door.call("remember", {"content": writer.sentence()})
        if number % 2
        else door.call("recall", {"query": writer.query()})
        for number in range(count)
    ]
    if (driven := driver.submit(wire.drive, RequestLoad(door.port, EACH, requests)).result()).failures:
        raise RuntimeError(f"{driven.failures} calls failed")

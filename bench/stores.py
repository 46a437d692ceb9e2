"""``remember`` through HTTP: one client beside the bare work, 32 beside the model's own batched rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from bench import baseline, data_folders, servers, wire
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import blocks, p50, p99, to_ms
from bench.run import Run
from bench.wire import LoadResult, RawConnection, RequestLoad, VaultEndpoint, result_of

ALONE, RATE, TAIL = 1.3, 0.85, 8.0
STORES, BLOCK, WARM = 200, 20, 20
CLIENTS, BURST, ROUNDS = 32, 960, 4


def measure(run: Run) -> Iterator[Figure]:
    """Texts are made up, 14 words on average; every one is new."""
    writer = TextWriter(seed=3)
    with run.folder("remember") as folder, baseline.process_pool() as pool, wire.driver() as driver:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",), "bob": ("other", "many")})
        with servers.run_server(servers.SERVE, ready.data) as server:
            door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
            pool.submit(baseline.open_for_writing, ready.data / "vaults" / "other").result()
            with run.report_progress("remember, one client"):
                yield _measure_alone(pool, door, [writer.sentence() for _ in range(WARM + run.sized(STORES, 40))])
            many = VaultEndpoint(server.port, "many", ready.tokens["bob"])
            with run.report_progress(f"remember, {CLIENTS} clients"):
                yield from _measure_concurrent(run, pool, driver, many, writer)


def _measure_alone(pool: ProcessPoolExecutor, endpoint: VaultEndpoint, texts: Sequence[str]) -> Figure:
    with RawConnection(endpoint.port) as line:
        for text in texts[:WARM]:
            line.ask(endpoint.call("remember", {"content": f"{text} Here."}))
        pool.submit(baseline.remember_all, texts[:WARM]).result()
        fresh, through, alone = texts[WARM:], [], []
        for some in blocks(len(fresh), BLOCK):
            for number in some:
                seconds, body = line.timed(endpoint.call("remember", {"content": fresh[number]}))
                _check(result_of(body))
                through.append(seconds)
            alone += pool.submit(baseline.remember_all, [fresh[number] for number in some]).result()
    base = p50([row["all"] for row in alone])
    parts = ", ".join(f"{stage} {to_ms(p50([row[stage] for row in alone]))}" for stage in ("embed", "commit"))
    raw = f"p50 {to_ms(p50(through))} (p99 {to_ms(p99(through))}) ÷ {to_ms(base)} ({parts}); {len(fresh)} stores"
    numbers = {"p50_s": p50(through), "p99_s": p99(through), "bare_p50_s": base}
    return Figure(
        "remember, one client, p50 ÷ embed + transaction",
        p50(through) / base,
        ALONE,
        unit="×",
        raw=raw,
        numbers=numbers,
    )


def _check(stored: dict[str, object]) -> None:
    if stored["embedding"] != "ready" or stored.get("duplicate_of"):
        raise RuntimeError(f"not stored as it should be: {stored}")


def _measure_concurrent(
    run: Run, pool: ProcessPoolExecutor, driver: ProcessPoolExecutor, endpoint: VaultEndpoint, writer: TextWriter
) -> Iterator[Figure]:
    rounds: list[tuple[LoadResult, float]] = []
    stored: dict[str, str] = {}
    for _ in range(run.sized(ROUNDS, 2)):
        texts = [writer.sentence() for _ in range(run.sized(BURST, 160))]
        requests = [endpoint.call("remember", {"content": text}) for text in texts]
        driven = driver.submit(wire.drive, RequestLoad(endpoint.port, CLIENTS, requests, 4096)).result()
        if driven.failures:
            raise RuntimeError(f"{driven.failures} stores failed: {driven.bodies[0][:300]!r}")
        stored |= {str(result_of(body)["id"]): text for body, text in zip(driven.bodies, texts, strict=True)}
        rounds.append((driven, pool.submit(baseline.embed_concurrently, texts, CLIENTS).result()))
    yield from _rates(rounds)
    yield _count_lost(endpoint, stored, len(rounds) * len(texts))


def _rates(rounds: Sequence[tuple[LoadResult, float]]) -> Iterator[Figure]:
    pairs = [(len(driven.seconds) / driven.wall, rate) for driven, rate in rounds]
    shares = sorted(stores / rate for stores, rate in pairs)
    raw = (
        "; ".join(f"{stores:.0f} stores/s ÷ {rate:.0f} texts/s" for stores, rate in pairs) + "; median of paired ratios"
    )
    yield Figure(
        f"remember, {CLIENTS} clients, stores ÷ batched rate",
        p50(shares),
        limit=RATE,
        sense=">=",
        unit="×",
        raw=raw,
        numbers={"pairs": pairs},
    )
    tails = [p99(driven.seconds) / p50(driven.seconds) for driven, _ in rounds]
    raw = "; ".join(f"{to_ms(p99(driven.seconds))} ÷ {to_ms(p50(driven.seconds))}" for driven, _ in rounds)
    yield Figure(
        f"remember, {CLIENTS} clients, p99 ÷ p50",
        p50(tails),
        limit=TAIL,
        sense="<",
        unit="×",
        raw=raw,
        numbers={"rounds": tails},
    )


def _count_lost(endpoint: VaultEndpoint, stored: dict[str, str], acknowledged: int) -> Figure:
    """Every acknowledged memory read back by its id, with its text."""
    right, ids = 0, list(stored)
    with RawConnection(endpoint.port) as line:
        for some in blocks(len(ids), 50):
            wanted = [ids[number] for number in some]
            request = endpoint.call("memory_get", {"ids": wanted})
            for memory in result_of(line.ask(request))["memories"]:
                right += stored[memory["id"]] == memory["content"]
        count = result_of(line.ask(endpoint.call("memory_list", {"limit": 1})))["total"]
    lost = acknowledged - min(right, count)
    raw = f"{acknowledged:,} acknowledged, {len(ids):,} ids, {right:,} read back with their text, {count:,} rows"
    return Figure(f"remember, {CLIENTS} clients, lost", lost, limit=0, sense="=", unit="", raw=raw)

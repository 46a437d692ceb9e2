"""16 searchers at once, hybrid, by a client that costs next to nothing, and by the ``mcp`` client beside it.

Two processes that do the bare sequence side by side say what the cores of this machine could do of it. Both sides take
turns by rounds, and every query of the searchers is new to the server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import baseline, data_folders, recalls, servers, wire
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import cpu_seconds, p50, p99, to_ms
from bench.run import Run
from bench.wire import LoadResult, RequestLoad, VaultEndpoint, result_of

MEMORIES, SEARCHERS, CORES = 2_106, 16, 2
BURST, ROUNDS, OF_MCP = 960, 4, 320
SHARE, TAIL = 0.7, 4.0
NAME = f"{SEARCHERS} searchers, {MEMORIES:,} memories"


def measure(run: Run) -> Iterator[Figure]:
    """The client and the server share the cores, as they do on the machine of somebody who tries it."""
    size = run.sized(MEMORIES, 1_000)
    with run.folder("searchers") as folder, ExitStack() as open_now:
        pools = [open_now.enter_context(baseline.process_pool()) for _ in range(CORES)]
        driver = open_now.enter_context(wire.driver())
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with run.report_progress(f"store {size:,} memories"):
            data_folders.fill(ready.data, "main", recalls.make_items(pools[0], size))
        _open_bare(pools, ready.data / "vaults" / "main")
        server = open_now.enter_context(servers.run_server(servers.SERVE, ready.data))
        door, writer = VaultEndpoint(server.port, "main", ready.tokens["ann"]), TextWriter(seed=16)
        with run.report_progress(f"{SEARCHERS} searchers"):
            _search(driver, door, server.pid, [writer.query() for _ in range(run.sized(BURST, 160) // 4)])  # warm
            rounds = [
                _take_turns((driver, pools), door, server.pid, [writer.query() for _ in range(run.sized(BURST, 160))])
                for _ in range(run.sized(ROUNDS, 2))
            ]
            asked = [writer.query() for _ in range(run.sized(OF_MCP, 64))]
            of_mcp = len(asked) / driver.submit(_drive_with_sdk, door, asked).result()
    yield from _figures(rounds, of_mcp)


def _open_bare(pools: Sequence[ProcessPoolExecutor], vault: Path) -> None:
    vault_id = recalls.read_vault_id(vault)
    for pool in pools:
        pool.submit(baseline.open_vault, vault, vault_id).result()


@dataclass(frozen=True, slots=True)
class _SearchRound:
    """One round: what the driver saw, seconds of the server's processor time, and the bare sequences a second that all
    cores did."""

    driven: LoadResult
    cpu_s: float
    bare_rate: float
    bare_cpu_s: float

    @property
    def rate(self) -> float:
        return len(self.driven.seconds) / self.driven.wall

    @property
    def cores(self) -> float:
        """Cores the server kept busy."""
        return self.cpu_s / self.driven.wall


def _take_turns(
    by: tuple[ProcessPoolExecutor, Sequence[ProcessPoolExecutor]], door: VaultEndpoint, pid: int, asked: Sequence[str]
) -> _SearchRound:
    driver, pools = by
    driven, cpu_s = _search(driver, door, pid, asked)
    began = time.perf_counter()
    halves = [pool.submit(baseline.recall_all, asked[place :: len(pools)]) for place, pool in enumerate(pools)]
    rows = [row for half in halves for row in half.result()]
    bare_rate = len(rows) / (time.perf_counter() - began)
    return _SearchRound(driven, cpu_s, bare_rate, sum(row["cpu"] for row in rows) / len(rows))


def _search(
    driver: ProcessPoolExecutor, door: VaultEndpoint, pid: int, asked: Sequence[str]
) -> tuple[LoadResult, float]:
    """What the driver saw, and what it took of the server's processor time. Raises ``RuntimeError`` unless all were
    answered, and the first one by meaning, too."""
    requests = [door.call("recall", {"query": query}) for query in asked]
    before = cpu_seconds(pid)
    driven = driver.submit(wire.drive, RequestLoad(door.port, SEARCHERS, requests, 1 << 16)).result()
    cpu_s = cpu_seconds(pid) - before
    if driven.failures or result_of(driven.bodies[0])["mode_used"] != "hybrid":
        raise RuntimeError(f"{driven.failures} searches failed: {driven.bodies[0][:300]!r}")
    return driven, cpu_s


def _drive_with_sdk(door: VaultEndpoint, asked: Sequence[str]) -> float:
    """Seconds for all of ``asked`` by as many of the SDK's clients, from this process."""
    return asyncio.run(_ask_with_sdk(door, asked))


async def _ask_with_sdk(door: VaultEndpoint, asked: Sequence[str]) -> float:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    left, barrier = iter(asked), asyncio.Barrier(SEARCHERS + 1)

    async def search() -> None:
        headers = {"Authorization": f"Bearer {door.token}"}
        url = f"http://{servers.HOST}:{door.port}/v/{door.vault}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            await barrier.wait()
            for query in left:
                await client.call_tool("recall", {"query": query})

    clients = [asyncio.create_task(search()) for _ in range(SEARCHERS)]
    await barrier.wait()
    began = time.perf_counter()
    await asyncio.gather(*clients)
    return time.perf_counter() - began


def _figures(rounds: Sequence[_SearchRound], of_mcp: float) -> Iterator[Figure]:
    pairs = [(each.rate, each.bare_rate) for each in rounds]
    raw = "; ".join(f"{rate:.0f} ÷ {bare:.0f}/s" for rate, bare in pairs) + "; median of paired ratios"
    numbers = {"pairs": pairs, "of_mcp": of_mcp}
    share = p50([rate / bare for rate, bare in pairs])
    yield Figure(f"{NAME}, rate ÷ bare on {CORES} cores", share, SHARE, ">=", "×", raw, numbers)
    raw = f"{p50([each.rate for each in rounds]):.0f}/s; {of_mcp:.0f}/s by as many clients of the SDK in one process"
    yield Figure(f"{NAME}, cores the server used", p50([each.cores for each in rounds]), unit="cores", raw=raw)
    own, bare = (
        p50(some)
        for some in zip(*((each.cpu_s / len(each.driven.seconds), each.bare_cpu_s) for each in rounds), strict=True)
    )
    raw = f"{to_ms(own)} ÷ {to_ms(bare)}"
    yield Figure(f"{NAME}, processor time ÷ bare sequence", own / bare, unit="×", raw=raw)
    tails = [p99(each.driven.seconds) / p50(each.driven.seconds) for each in rounds]
    raw = "; ".join(f"{to_ms(p99(each.driven.seconds))} ÷ {to_ms(p50(each.driven.seconds))}" for each in rounds)
    yield Figure(f"{NAME}, p99 ÷ p50", p50(tails), TAIL, unit="×", raw=raw, numbers={"rounds": tails})

"""The same cores for one server and for three: what being several costs where nothing is gained by it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

from bench.cluster import sites
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import p50
from bench.run import Run
from bench.wire import RequestLoad
from tests.cluster.installation import Installation

SERVERS, VAULTS, EACH, CALLS, CLIENTS, ROUNDS, WRITES = 3, 12, 60, 900, 12, 3, 0.15
SHARE = 0.85


def measure(run: Run) -> Iterator[Figure]:
    """Recalls and stores over a dozen vaults, each call of any server, whoever has the vault."""
    names = [f"team-{number}" for number in range(VAULTS)]
    with run.folder("cluster-load") as folder, sites.postgres(folder) as postgres:

        async def compare() -> list[tuple[float, float]]:
            async with (
                sites.several(folder / "three", postgres, SERVERS, names) as three,
                sites.several(folder / "one", postgres, 1, names) as one,
            ):
                writer = TextWriter(seed=22)
                for each in (one, three):
                    await _load(each, names, writer, run.sized(EACH, 5) * VAULTS, 1.0)
                with run.report_progress("one server and three, in turns"):
                    return [
                        (
                            await _load(three, names, writer, run.sized(CALLS, 60), WRITES),
                            await _load(one, names, writer, run.sized(CALLS, 60), WRITES),
                        )
                        for _ in range(run.sized(ROUNDS, 1))
                    ]

        pairs = asyncio.run(compare())
    raw = "; ".join(f"{three:.0f} ÷ {one:.0f} calls/s" for three, one in pairs)
    raw += f"; {CLIENTS} clients, {WRITES:.0%} stores, {VAULTS} vaults; two calls of three are passed on"
    share = p50([three / one for three, one in pairs])
    yield Figure("three servers on the same cores ÷ one, mixed load", share, SHARE, ">=", "×", raw)


async def _load(installation: Installation, names: list[str], writer: TextWriter, count: int, writes: float) -> float:
    """Calls a second."""
    chance, servers = Random(count), installation.servers
    loads = []
    for server in servers:
        requests = []
        for _ in range(count // len(servers)):
            target = sites.endpoint(installation, server, chance.choice(names))
            stores = chance.random() < writes
            asked = ("remember", {"content": writer.sentence()}) if stores else ("recall", {"query": writer.query()})
            requests.append(target.call(*asked))
        loads.append(RequestLoad(server.port, CLIENTS // len(servers), requests))
    driven = await sites.drive(loads)
    return sum(len(load.requests) for load in loads) / max(each.wall for each in driven)

"""What callers wait when a server is killed, and how many calls fail when all are restarted one after the other."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx2

from bench.cluster import sites
from bench.figures import Figure
from bench.measurements import quantile
from bench.run import Run
from tests.cluster.installation import Installation, ServerProcess
from tests.cluster.postgres_server import PostgresServer

SERVERS, VAULTS, LEASE_S, MORE_S, CALLERS = 3, 300, 3.0, 2.0, 6
PAUSE_S = 0.1
PATIENCE_S = 120.0
OLDEST = {"limit": 1, "order": "oldest"}


def measure(run: Run) -> Iterator[Figure]:
    """Both on one installation of three servers, all of whose vaults were called before."""
    names = [f"team-{number}" for number in range(run.sized(VAULTS, 20))]
    with run.folder("cluster-losses") as folder, sites.postgres(folder) as postgres:
        yield from asyncio.run(_lose(run, folder, postgres, names))


async def _lose(run: Run, folder: Path, postgres: PostgresServer, names: list[str]) -> list[Figure]:
    async with sites.several(folder, postgres, SERVERS, names, cluster__lease_s=LEASE_S) as three:
        with run.report_progress(f"store in {len(names)} vaults"):
            for name in names:
                await three.ask(name, "remember", {"content": f"What {name} is for, and nothing else."})
        with run.report_progress("restart three servers, one after the other"):
            restarted = await _restart_all(three, names)
        with run.report_progress("kill a server"):
            killed = await _kill(three, names)
    return [killed, restarted]


async def _kill(three: Installation, names: list[str]) -> Figure:
    for name in names:  # each is open where it is
        await three.ask(name, "memory_list", {"limit": 1})
    holders = three.holders()
    victim = max(three.servers, key=lambda server: sum(name == server.name for name in holders.values()))
    lost = [name for name in names if holders[name] == victim.name]
    others = [each for each in three.servers if each is not victim]
    began = time.perf_counter()
    await victim.kill()
    back = await asyncio.gather(*(_answered_after(three, others, name, began) for name in lost))
    raw = (
        f"{len(lost)} of {len(names)} vaults lost, all asked for at once; the first after {min(back):.1f} s, half after"
        f" {quantile(back, 0.5):.1f} s, the last after {max(back):.1f} s; lease {LEASE_S:g} s"
    )
    name = f"vault answers elsewhere after a kill, {len(names)} vaults, p95"
    return Figure(name, quantile(back, 0.95), LEASE_S + MORE_S, unit="s", raw=raw, numbers={"back_s": back})


async def _answered_after(three: Installation, servers: list[ServerProcess], vault: str, began: float) -> float:
    """Seconds until what was stored in it is shown again."""
    number = hash(vault)
    while time.perf_counter() - began < PATIENCE_S:
        number += 1
        try:
            answer = await three.call(
                servers[number % len(servers)], vault, "memory_list", {"limit": 1, "order": "oldest"}
            )
        except (httpx2.TransportError, LookupError):
            answer = None
        if answer is not None and answer.code is None:
            if f"What {vault} is for" not in answer.text:
                raise RuntimeError(f"{vault} answers without what was stored in it")
            return time.perf_counter() - began
        await asyncio.sleep(PAUSE_S)
    raise RuntimeError(f"{vault} was never answered again")


async def _restart_all(three: Installation, names: list[str]) -> Figure:
    done, failed = asyncio.Event(), Counter[str]()
    callers = [asyncio.create_task(_call_until(done, three, names, number, failed)) for number in range(CALLERS)]
    began = time.perf_counter()
    for server in three.servers:
        server.is_offered = False  # as a balancer has it that asked /health/ready
        await server.end()
        server.start()
        await server.ready()
        server.is_offered = True
    seconds = time.perf_counter() - began
    done.set()
    answered = sum(await asyncio.gather(*callers))
    raw = f"{answered:,} calls answered in {seconds:.0f} s, {CALLERS} callers; {dict(failed) or 'none failed'}"
    return Figure(f"rolling restart of {SERVERS} servers, failed calls", failed.total(), 0, "=", raw=raw[:600])


async def _call_until(
    done: asyncio.Event, three: Installation, names: list[str], caller: int, failed: Counter[str]
) -> int:
    answered = number = 0
    while not done.is_set():
        number += 1
        name = names[(number * 7 + caller * 31) % len(names)]
        stores = ("remember", {"content": f"Caller {caller} said {number}, which nobody had said before."})
        try:
            answer = await three.ask(name, *(stores if number % 3 == 0 else ("memory_list", {"limit": 5})))
        except (httpx2.TransportError, LookupError) as failure:
            failed[repr(failure)[:120]] += 1
        else:
            answered += answer.code is None
            failed.update([answer.text[:120]] if answer.code is not None else [])
        await asyncio.sleep(0.01)
    return answered

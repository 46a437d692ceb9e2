"""``verify`` of a vault of a gigabyte: how long it takes, and how long calls beside it wait."""

from __future__ import annotations

import asyncio
import random
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from auth.principal import owner
from auth.roles import Role
from bench import bulk_rows, data_folders
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import p50, p99, to_ms
from bench.run import Run
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.tools import discover
from vaults.domain.maintenance.verification import VerificationReport, verify

MEMORIES, SENTENCES, WIDTH = 220_000, 7, 384
"""Some 600 characters each: a gigabyte with passages, words and vectors."""

SECONDS, LONGER_S = 60.0, 0.050
NAME, PAUSE_S = "main", 0.02
WARM_S, ALONE_S = 5, 30
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class _Beside:
    """Times of calls and of the loop, in seconds."""

    calls: list[float]
    late: list[float]


def measure(run: Run) -> Iterator[Figure]:
    """Keyword searches and stores go on, one every 20 ms, before it and beside it."""
    with run.folder("verifies") as folder:
        count = run.sized(MEMORIES, 5_000)
        data = data_folders.prepare_folder(folder / "data", {"ann": (NAME,)}).data
        with run.report_progress(f"make {count:,} memories"):
            bulk_rows.fill(data, NAME, _pairs(count))
        size = (data / "vaults" / NAME / "vault.db").stat().st_size
        with run.report_progress(f"verify {size // MIB:,} MB"):
            report, seconds, cpu, alone, beside = asyncio.run(_measure(data))
    if not report.agrees:
        raise RuntimeError(f"it does not agree: {report.findings}")
    raw = f"{count:,} memories, {size // MIB:,} MB, {report.vectors:,} vectors; {cpu:.0f} s of CPU, calls included"
    yield Figure("verify of a gigabyte", seconds, SECONDS, unit="s", raw=raw)
    longer = max(beside.calls) - max(alone.calls)
    raw = (
        f"longest {to_ms(max(beside.calls))} (p99 {to_ms(p99(beside.calls))}, p50 {to_ms(p50(beside.calls))}), alone"
        f" {to_ms(max(alone.calls))} (p99 {to_ms(p99(alone.calls))}, p50 {to_ms(p50(alone.calls))});"
        f" {len(beside.calls):,} calls;"
        f" loop late {to_ms(max(beside.late))} at most, alone {to_ms(max(alone.late))}"
    )
    yield Figure("verify: the longest call waits longer by", longer * 1000, LONGER_S * 1000, unit="ms", raw=raw)


def _pairs(count: int) -> Iterator[bulk_rows.Pair]:
    import numpy as np

    writer, chance = TextWriter(seed=23), np.random.default_rng(23)
    sentences, pick = [writer.sentence() for _ in range(5_000)], random.Random(23)
    for at in range(count):
        vector = chance.standard_normal(WIDTH, dtype=np.float32)
        text = " ".join([f"Memory {at}.", *pick.sample(sentences, SENTENCES)])
        yield text, (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


async def _measure(data: Path) -> tuple[VerificationReport, float, float, _Beside, _Beside]:
    loaded = data_folders.default_settings(data)
    async with (
        open_services(loaded.settings, data, discover()) as services,
        services.pool.lease(services.registry_cache.entry(NAME)) as vault,
    ):
        await services.embedder.warm()
        await _call_beside(services, asyncio.create_task(asyncio.sleep(WARM_S)))  # the first calls open and load
        alone = await _call_beside(services, asyncio.create_task(asyncio.sleep(ALONE_S)))
        began, cpu = time.perf_counter(), _cpu_s()
        work = asyncio.create_task(verify(vault))
        beside = await _call_beside(services, work)
        return await work, time.perf_counter() - began, _cpu_s() - cpu, alone, beside


def _cpu_s() -> float:
    """Of this process and of those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def _call_beside(services: Services, work: asyncio.Task[object]) -> _Beside:
    caller, calls, late, at = Caller(owner("cli"), NAME, Role.ADMIN, "cli"), [], [], 0
    while not work.done():
        began = time.perf_counter()
        await asyncio.sleep(PAUSE_S)
        late.append(time.perf_counter() - began - PAUSE_S)
        at += 1
        tool, args = ("recall", {"query": f"memory {at}", "mode": "keyword"})
        if at % 5 == 0:
            tool, args = ("remember", {"content": f"A thought beside it, number {at} at {began}."})
        began = time.perf_counter()
        outcome = await dispatch(services, caller, tool, args)
        calls.append(time.perf_counter() - began)
        if not outcome.ok:
            raise RuntimeError(f"{tool}: {outcome.code}")
    return _Beside(calls, late)

"""What the change log costs: bytes and CPU of a stored memory, how late a commit is in the store, and restoring.

The same memories go into two servers in one process, by turns, one of which keeps a log in a folder on the same disk. A
log takes what was committed once a second: memories that share a second share a segment, and pack better. So bytes are
told for memories stored one after the other, and for one a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

from auth.principal import owner
from auth.roles import Role
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import blocks, p50, to_ms
from bench.run import Run
from ops.backup.folder_store import FolderStore
from ops.change_log.change_log import ChangeLog
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from server import vault_admin
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.settings import load
from server.tools import discover

BEFORE, MEASURED, BLOCK = 1_000, 400, 50
ALONE, PROBES = 30, 20
LIMIT_KB = 10.0
LIMIT_S = 1.5
FLAGS = {"storage.reserve_mb": 0, "limits.calls_per_minute": 10**9, "limits.vault_calls_per_minute": 10**9}


def measure(run: Run) -> Iterator[Figure]:
    """Bytes, CPU, delay, and the pace of a restore."""
    with run.folder("change-log") as folder, run.report_progress("memories with and without a change log"):
        yield from asyncio.run(_Bench(folder, run).measure())


class _Bench:
    def __init__(self, folder: Path, run: Run) -> None:
        self._folder, self._run = folder, run
        self._target = folder / "target"
        self._target.mkdir()
        self._writer, self._chance = TextWriter(17), Random(17)

    async def measure(self) -> list[Figure]:
        async with AsyncExitStack() as stack:
            plain = await self._open(stack, "plain", {})
            logged = await self._open(stack, "logged", {"backup.to": str(self._target), "backup.log": True})
            entry = logged.registry_cache.entry("main")
            vault = await stack.enter_async_context(logged.pool.lease(entry))
            log = vault.db.log
            assert isinstance(log, ChangeLog)
            for _ in range(self._run.sized(BEFORE, 100)):
                text = self._writer.sentence()
                await _remember(plain, text)
                await _remember(logged, text)
            await _stored(log)
            figures = [*await self._together(plain, logged, log), await self._alone(logged, log)]
            figures.append(await self._delay(logged, log))
        return [*figures, self._restored(entry.vault_id)]

    async def _open(self, stack: AsyncExitStack, name: str, flags: Mapping[str, Any]) -> Services:
        loaded = load(self._folder / name, flags={**FLAGS, **flags}, environment={})
        services = await stack.enter_async_context(open_services(loaded.settings, loaded.data, discover()))
        await vault_admin.create(services, "main")
        return services

    async def _together(self, plain: Services, logged: Services, log: ChangeLog) -> list[Figure]:
        cpu, count = {"plain": 0.0, "logged": 0.0}, self._run.sized(MEASURED, BLOCK)
        before = log.figures.stored_bytes, log.figures.bases
        for block in blocks(count, BLOCK):
            for name, services in (("plain", plain), ("logged", logged)):
                began = time.process_time()
                for _ in block:
                    await _remember(services, self._writer.sentence())
                if name == "logged":
                    await _stored(log)
                cpu[name] += time.process_time() - began
        size = (log.figures.stored_bytes - before[0]) / count
        raw = f"{count} memories one after the other in a vault of {self._run.sized(BEFORE, 100)}"
        added = (cpu["logged"] - cpu["plain"]) / count * 1000
        share = f"{raw}; without the log {cpu['plain'] / count * 1000:.2f} ms"
        return [
            Figure("log of a stored memory", size / 1000, LIMIT_KB, unit="KB", raw=raw),
            Figure("log of a stored memory, CPU", added, unit="ms", raw=share),
        ]

    async def _alone(self, logged: Services, log: ChangeLog) -> Figure:
        count, before = self._run.sized(ALONE, 5), log.figures.stored_bytes
        for _ in range(count):
            await _remember(logged, self._writer.sentence())
            await _stored(log)
        size = (log.figures.stored_bytes - before) / count
        return Figure("log of a stored memory, one a segment", size / 1000, unit="KB", raw=f"{count} memories")

    async def _delay(self, logged: Services, log: ChangeLog) -> Figure:
        waits = []
        for _ in range(self._run.sized(PROBES, 3)):
            await asyncio.sleep(self._chance.uniform(0.2, 1.2))
            await _remember(logged, self._writer.sentence())
            began = time.monotonic()
            while log.figures.covered_at < began:  # noqa: ASYNC110  another thread sets it
                await asyncio.sleep(0.005)
            waits.append(time.monotonic() - began)
        raw = f"p50 {to_ms(p50(waits))} of {len(waits)} memories"
        return Figure("answered → in the store, longest", max(waits), LIMIT_S, unit="s", raw=raw)

    def _restored(self, vault_id: str) -> Figure:
        store, into = FolderStore(self._target), self._folder / "restored.db"
        began = time.perf_counter()
        point = find_point(store, vault_id)
        materialise(store, vault_id, into, point)
        took = time.perf_counter() - began
        raw = f"{into.stat().st_size / 1e6:.1f} MB and {point.sequence} commits in {took:.2f} s"
        return Figure("restored from the log", point.sequence / took, unit="commits/s", raw=raw)


async def _remember(services: Services, text: str) -> None:
    caller = Caller(owner("cli"), "main", Role.ADMIN, "http", preset="full")
    outcome = await dispatch(services, caller, "remember", {"content": text})
    if not outcome.ok:
        raise RuntimeError(outcome.text)


async def _stored(log: ChangeLog) -> None:
    """Wait until all that was committed is in the store."""
    began = time.monotonic()
    while log.figures.covered_at < began:
        log.wake.set()
        await asyncio.sleep(0.005)

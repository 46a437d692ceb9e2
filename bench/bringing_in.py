"""Imports and harvests in a process of their own, which reads its own clock and memory.

What ``strongroom import`` and ``strongroom harvest`` do, with the functions they use, so that nothing of the bench
itself is resident there.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bench import data_folders
from bench.measurements import resident_bytes
from vaults.vault import Vault

VAULT = "main"
FIRST_BATCHES = 20
"""Batches after which caches, statements and pages are as they stay."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Readings:
    """What a run took and held. ``records`` is what it stored; ``settled``: resident bytes after the first batches,
    ``largest``: at most after any later one."""

    records: int
    seconds: float
    cpu: float
    settled: int = 0
    largest: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddedReadings:
    """An import with its vectors, and the embedder alone: seconds of wall time and of processor time."""

    records: int
    seconds: float
    cpu: float
    alone: float
    alone_cpu: float


@dataclass(slots=True)
class _Memory:
    """Resident memory, looked at after each batch."""

    seen: list[int] = field(default_factory=list)

    def look(self, *_: object) -> None:
        self.seen.append(resident_bytes(os.getpid()))


def in_process(work: Callable[..., T], *given: Any) -> T:
    """Do a piece of work in a fresh process."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawning) as process:
        return process.submit(work, *given).result()


def import_file(data: Path, path: Path, flags: dict[str, Any]) -> Readings:
    """Import a file of lines until its memories are found by their words."""
    return asyncio.run(_import_file(data, path, flags))


def import_with_vectors(data: Path, path: Path, texts: Sequence[str]) -> EmbeddedReadings:
    """Import a file of lines until every memory has its vector; half of the texts are embedded alone before, and half
    after it."""
    return asyncio.run(_import_with_vectors(data, path, texts))


def harvest(data: Path, home: Path, flags: dict[str, Any]) -> Readings:
    """One pass over the transcripts below a home folder, memories included."""
    return asyncio.run(_harvest(data, home, flags))


def read_in(data: Path, folder: Path, flags: dict[str, Any]) -> Readings:
    """The files of a folder as documents, until they are found by their words. ``settled``: before the first."""
    return asyncio.run(_read_in(data, folder, flags))


def read_transcripts(state: Path, home: Path) -> Readings:
    """One pass over the transcripts below a home folder by which nothing is stored: ``records`` are new turns."""
    return asyncio.run(_read_transcripts(state, home))


@asynccontextmanager
async def open_vault(data: Path, flags: dict[str, Any]) -> AsyncIterator[Vault]:
    from server.background_plan import COMMAND_WORK
    from server.services import open_services
    from server.tools import discover

    loaded = data_folders.default_settings(data, **flags)
    async with (
        open_services(loaded.settings, data, discover(), background=COMMAND_WORK) as services,
        services.pool.lease(services.registry_cache.entry(VAULT)) as vault,
    ):
        gc.freeze()
        yield vault


async def _bring(vault: Vault, path: Path, memory: _Memory) -> int:
    from vaults.domain.actors import Actor
    from vaults.domain.import_export.source_import import ImportPlan
    from vaults.domain.import_export.vault_import import import_into_vault
    from vaults.sources.jsonl import SOURCE

    tally = await import_into_vault(vault, Actor("owner", "owner"), ImportPlan(SOURCE, path), memory.look)
    if tally.rejected:
        raise RuntimeError(f"{tally.rejected} lines were rejected")
    return tally.stored


async def _import_file(data: Path, path: Path, flags: dict[str, Any]) -> Readings:
    memory = _Memory()
    async with open_vault(data, flags) as vault:
        began, cpu = time.perf_counter(), time.process_time()
        stored = await _bring(vault, path, memory)
        seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    first = min(FIRST_BATCHES, len(memory.seen) - 1)
    return Readings(stored, seconds, spent, memory.seen[first], max(memory.seen[first:]))


async def _import_with_vectors(data: Path, path: Path, texts: Sequence[str]) -> EmbeddedReadings:
    from vaults.index import embeddings

    half = len(texts) // 2
    async with open_vault(data, {}) as vault:
        embedder = vault.embedder
        await embedder.warm()
        first = await _timed(lambda: embedder.each(texts[:half], urgent=False))
        embedder.loads_for_backfill = True

        async def bring() -> int:
            stored = await _bring(vault, path, _Memory())
            vault.start_background_work()
            await vault.background.wait()
            if left := await vault.db.read(embeddings.count_missing):
                raise RuntimeError(f"{left} have no vector")
            return stored

        stored, seconds, cpu = await _timed(bring)
        last = await _timed(lambda: embedder.each(texts[half:], urgent=False))
    return EmbeddedReadings(stored, seconds, cpu, first[1] + last[1], first[2] + last[2])


async def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    began, cpu = time.perf_counter(), time.process_time()
    found = await work()
    return found, time.perf_counter() - began, time.process_time() - cpu


async def _harvest(data: Path, home: Path, flags: dict[str, Any]) -> Readings:
    from vaults.domain.actors import Actor
    from vaults.domain.import_export.harvesting import Harvester
    from vaults.domain.import_export.vault_import import open_push

    async with (
        open_vault(data, flags) as vault,
        open_push(vault, Actor("owner", "owner"), ("harvest", str(home))) as push,
    ):
        before = resident_bytes(os.getpid())
        report, seconds, cpu = await _timed(lambda: Harvester(home, data / "harvest").run(push))
        if report.seen.failed or report.rejected:
            raise RuntimeError(f"not taken: {report.seen.failed[:3]} {report.rejected[:3]}")
        held = resident_bytes(os.getpid())
    return Readings(report.seen.turns, seconds, cpu, before, held)


async def _read_transcripts(state: Path, home: Path) -> Readings:
    from vaults.domain.import_export.harvesting import Harvester
    from vaults.domain.import_export.line_import import NumberedLine
    from vaults.domain.import_export.row_writer import LineOutcome

    async def let_go(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        return [LineOutcome("document", "known")] * len(lines)

    report, seconds, cpu = await _timed(lambda: Harvester(home, state, kinds=()).run(let_go))
    return Readings(report.seen.turns, seconds, cpu)


FILES_AT_ONCE = 3


async def _read_in(data: Path, folder: Path, flags: dict[str, Any]) -> Readings:
    from vaults.domain.actors import Actor
    from vaults.domain.documents.file_intake import GivenFile, take_in
    from vaults.domain.documents.intake import DocumentSource

    memory, stored, actor = _Memory(), list[str](), Actor("owner", "owner")
    todo = iter(sorted(folder.iterdir()))

    async def work(vault: Vault) -> None:
        for path in todo:
            given = GivenFile(await asyncio.to_thread(path.read_bytes), DocumentSource(path.name, uri=path.as_uri()))
            stored.append((await take_in(vault, actor, given)).status)
            memory.look()

    async with open_vault(data, flags) as vault:
        memory.look()
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(work(vault) for _ in range(FILES_AT_ONCE)))
        seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    return Readings(stored.count("new"), seconds, spent, memory.seen[0], max(memory.seen))

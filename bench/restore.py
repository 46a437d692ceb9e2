"""Restoring a vault of 100,000 memories from an archive: how fast bytes come back, and when the first answer does.

In one process, without a server: the archive is staged and written as the command does, then restored over the vault.
The first answer is a search by words, from the moment the last byte was written, opening the vault included.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from bench import baseline, data_folders
from bench.data_folders import SeedMemory
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.run import Run
from ops.backup.archive_reader import open_archive
from ops.backup.archive_writer import write_archive
from ops.backup.restore import LivingInstallation, RestoreReport, RestoreRequest, restore
from ops.backup.staging import stage
from ops.backup.subject import read_subject
from server.background_plan import COMMAND_WORK
from server.services import Services, open_services
from server.tools import discover
from vaults import clock
from vaults.domain.memories.memory_model import MemoryFields
from vaults.search.filters import SearchFilter
from vaults.search.pipeline import search
from vaults.search.question import SearchQuestion

MEMORIES, REAL, MB = 100_000, 1_000, 1_000_000
PACE, ANSWER_S = 150.0, 2.0


def measure(run: Run) -> Iterator[Figure]:
    """Vectors are mixtures of real ones, as in ``bench.scale``."""
    import numpy as np

    count = run.sized(MEMORIES, 2_000)
    with run.folder("restore") as folder, baseline.process_pool() as pool:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with run.report_progress(f"store {count:,} memories"):
            writer = TextWriter(seed=11)
            texts = [writer.sentence() for _ in range(REAL)]
            real = np.frombuffer(pool.submit(baseline.embed_all, texts).result(), np.float32).reshape(-1, 384)
            made = (
                SeedMemory(MemoryFields(content=writer.sentence()), vector)
                for vector in data_folders.mixtures(real, count)
            )
            data_folders.fill(ready.data, "main", made)
        with run.report_progress("back it up and restore it"):
            report, took, answered = asyncio.run(_restore(ready.data, folder, writer.query()))
    size = report.size / MB
    split = (
        f"{size:,.0f} MB: {report.extract_s:.1f} s taken out and compared, {report.verify_s:.1f} s opened and verified,"
        f" {report.away_s * 1e3:.0f} ms in which callers were turned away; {took:.1f} s in all"
    )
    numbers = {"bytes": report.size, "extract_s": report.extract_s, "verify_s": report.verify_s, "took_s": took}
    name = f"restore of {count:,} memories, taken out and compared"
    yield Figure(name, size / report.extract_s, PACE, ">=", "MB/s", split, numbers)
    raw = f"open, and a search by words; {report.away_s * 1e3:.0f} ms before, the folders changed places"
    yield Figure("first answer of a restored vault", report.away_s + answered, ANSWER_S, "<=", "s", raw)


async def _restore(data: Path, folder: Path, query: str) -> tuple[RestoreReport, float, float]:
    loaded = data_folders.default_settings(data)
    async with open_services(loaded.settings, data, discover(), background=COMMAND_WORK) as services:
        archive = await _back_up(services, folder)
        place = LivingInstallation(data, services.control, services.pool, loaded.settings.storage)
        began = time.perf_counter()
        report = await restore(place, open_archive(archive), RestoreRequest())
        took, began = time.perf_counter() - began, time.perf_counter()
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            question = SearchQuestion(query, "keyword", SearchFilter("bench", clock.now(), kinds=("memory",)), 10)
            await search(vault.engines, question, lambda _, ranking: ranking)
        return report, took, time.perf_counter() - began


async def _back_up(services: Services, folder: Path) -> Path:
    subject = await read_subject(
        services.control,
        services.data,
        services.registry_cache.entry("main"),
        version="bench",
        storage=services.settings.storage,
        notes=services.settings.notes,
    )
    for name in ("staged", "archives"):
        (folder / name).mkdir()
    staged = await asyncio.to_thread(stage, subject, folder / "staged")
    return (await asyncio.to_thread(write_archive, staged, folder / "archives")).path

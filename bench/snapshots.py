"""Scheduled backups of a gigabyte: what the first moves, and the second of a vault that did not change.

The schedule of a server is what runs, in this process and without its clock: a folder on the same disk is the target.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench import baseline, data_folders
from bench.backup import MEMORIES, fill_vault
from bench.figures import Figure
from bench.run import Run
from ops.backup.schedule import BackupSchedule
from server.background_plan import COMMAND_WORK
from server.backup_schedule import make_schedule
from server.services import Services, open_services
from server.settings import FILE
from server.tools import discover

MOVED_MB = 5.0
LONG_AGO = "2020-01-01T00:00:00.000Z"


@dataclass(slots=True)
class _Observed:
    """What the schedule said of its backups."""

    seconds: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    size: int = 0

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None:
        if outcome != "ok":
            raise RuntimeError(f"the backup failed: {outcome}")
        self.seconds.append(seconds)
        self.moved.append(moved)

    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None:  # noqa: ARG002  the shape of it
        self.size = size


def measure(run: Run) -> Iterator[Figure]:
    """On request: filling the vault takes minutes."""
    memories = run.sized(MEMORIES, 5_000)
    with run.folder("snapshots") as folder, baseline.process_pool() as pool:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with run.report_progress(f"store {memories:,} memories"):
            fill_vault(pool, ready.data, memories)
        (folder / "to").mkdir()
        with run.report_progress("back it up twice"):
            seen = asyncio.run(_back_up_twice(ready.data, folder / "to"))
    mb = [moved / 1e6 for moved in seen.moved]
    size = seen.size / 1e6
    raw = f"of {size:,.0f} MB, in {seen.seconds[1]:.1f} s; the first moved {mb[0]:,.0f} MB in {seen.seconds[0]:.1f} s"
    yield Figure("moved by the backup of an unchanged vault", mb[1], MOVED_MB, "<=", "MB", raw, {"size": seen.size})


async def _back_up_twice(data: Path, to: Path) -> _Observed:
    loaded = data_folders.default_settings(data, **{"backup.every": "1d", "backup.to": str(to)})
    seen = _Observed()
    async with open_services(loaded.settings, loaded.data, discover(), background=COMMAND_WORK) as services:
        schedule = make_schedule(services, seen, loaded.data / FILE)
        try:
            for _ in range(2):
                await _back_up(services, schedule)
        finally:
            await schedule.close()
    return seen


async def _back_up(services: Services, schedule: BackupSchedule) -> None:
    """Once more, however long ago the last was."""
    await services.control.write(lambda tx: tx.run("UPDATE backups SET began_at = :then", {"then": LONG_AGO}))
    if await schedule.look() != 1:
        raise RuntimeError("no backup was made")

"""The process that backs a vault up, lets older backups go, and is killed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ops.backup.run_reports import NoBackupObserver
from ops.backup.schedule import BackupSchedule
from server.backup_schedule import make_schedule
from server.services import Services
from tests.crash.notes_work import ask, opened
from tests.crash.traced import be_traced

KEPT = 3
LONG_AGO = "2020-01-01T00:00:00.000Z"


@asynccontextmanager
async def backing_up(data: Path) -> AsyncIterator[tuple[Services, BackupSchedule]]:
    """Services over ``data`` whose backups go to its folder ``to``; every vault is due."""
    flags = {
        "backup.every": "1d",
        "backup.to": str(data / "to"),
        "backup.keep": str(KEPT),
        "notes.watch": "off",
    }
    (data / "to").mkdir(exist_ok=True)
    async with opened(data, flags) as services:
        await services.control.write(lambda tx: tx.run("UPDATE backups SET began_at = :then", {"then": LONG_AGO}))
        schedule = make_schedule(services, NoBackupObserver(), data / "strongroom.toml")
        try:
            yield services, schedule
        finally:
            await schedule.close()


async def change(services: Services, number: int) -> None:
    """Write what the next backup has and earlier ones have not."""
    assert (await ask(services, "remember", content=f"fact {number} of the harbour word{number}")).ok
    assert (
        await ask(services, "note_write", path=f"notes{number}.md", content=f"# N\n\n{'line ' * 9000}{number}\n")
    ).ok


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Back up once, and rotate."""
    be_traced()
    os.dup2(2, 1)  # log lines
    asyncio.run(_work(Path(data), pipe))
    pipe.send(("closed", None))


async def _work(data: Path, pipe: Connection) -> None:
    async with backing_up(data) as (_, schedule):
        pipe.send(("ready", os.getpid()))
        await asyncio.to_thread(pipe.recv)
        pipe.send((await schedule.look(), "made"))

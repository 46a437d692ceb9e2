"""The process that harvests sessions of Claude Code and is killed."""

from __future__ import annotations

import asyncio
import json
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.crash.notes_work import opened
from tests.crash.traced import be_traced
from tests.working_day import WorkingDay
from vaults.domain.actors import Actor
from vaults.domain.import_export.harvesting import Harvester
from vaults.domain.import_export.vault_import import open_push
from vaults.transcripts import document_lines, harvest

OWNER = Actor("owner", "owner")
SESSIONS = 4


def write_sessions(home: Path) -> Path:
    """Days of work: what is decided, what fails and what makes it go; one is longer than a batch."""
    for number in range(SESSIONS):
        day = WorkingDay(home, name=f"day{number}")
        day.add("user", f"Please use pnpm{number}, not npm, in this repository from now on.")
        day.run(f"pnpm test {number}", f"Error: Cannot find module 'tides{number}'", failed=True)
        day.edit(f"/work/harbour/src/tides{number}.ts", "tides", "./tides")
        day.run(f"pnpm test {number}", "all 14 tests passed")
        day.say(f"We decided to keep table {number} in SQLite instead of JSON because it must be queried by day.")
        for turn in range(30 if number == 1 else 4):
            day.say(f"turnword{number}x{turn} " + "of tides and piers, " * (40 if number == 1 else 3))
    return home


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the vault, say ``ready``, wait for the word, harvest once, close. Each push is said."""
    be_traced()
    asyncio.run(_work(Path(data), flags, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, flags: dict[str, Any], pipe: Connection) -> None:
    home = Path(flags.pop("home"))
    harvest.BATCH_CHARACTERS = 4_000  # so that there are several
    document_lines.MAX_CHARACTERS = 8_000
    async with opened(data, flags) as services:
        pipe.send(("ready", os.getpid()))
        await asyncio.to_thread(pipe.recv)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            async with open_push(vault, OWNER, ("harvest", str(home))) as push:

                async def told(lines: Any) -> Any:
                    outcomes = await push(lines)
                    pipe.send((len(outcomes), json.dumps([each.outcome for each in outcomes])))
                    return outcomes

                await Harvester(home, data / "harvest").run(told)

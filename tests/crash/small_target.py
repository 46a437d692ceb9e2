"""A backup onto a disk that is too small for it, or has become read-only: run where such a one is.

``python -m tests.crash.small_target DATA`` makes a vault whose backups go to ``DATA/to``, backs it up, adds more than
there is room for, backs it up again, and prints what came of each as a JSON line; ``… DATA once`` backs it up once.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path

from ops.backup import backup_runs
from ops.backup.folder_store import PARTIAL, FolderStore
from ops.backup.snapshots import list_snapshots, open_snapshot
from server.services import Services
from tests.crash.backup_work import backing_up, change

ROOM = 10 << 20


async def _outcome(services: Services, data: Path) -> dict[str, object]:
    vault_id = services.registry_cache.entry("main").vault_id
    runs = await services.control.read(lambda tx: backup_runs.list_runs(tx, vault_id))
    there = list_snapshots(FolderStore(data / "to"), vault_id)
    whole = 0
    for each in there:
        open_snapshot(FolderStore(data / "to"), vault_id, str(each)).extract(data / f"out-{len(runs)}" / str(each))
        whole += 1
    partial = len(list((data / "to").rglob(f"*{PARTIAL}")))
    return {"outcome": runs[0].outcome, "there": len(there), "whole": whole, "partial": partial}


async def run(data: Path, *, once: bool) -> None:
    async with backing_up(data) as (services, schedule):
        if not once:
            await change(services, 0)
        await schedule.look()
        print(json.dumps(await _outcome(services, data)), flush=True)
    if once:
        return
    noise = random.Random(1).randbytes(ROOM).hex()
    for number in range(0, len(noise), 1 << 20):
        (data / "vaults/main/notes" / f"{number}.md").write_text(noise[number : number + (1 << 20)])
    async with backing_up(data) as (services, schedule):
        await schedule.look()
        print(json.dumps(await _outcome(services, data)), flush=True)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), once=len(sys.argv) > 2))

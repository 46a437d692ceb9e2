"""The process that imports some thousand lines of all kinds, or takes its imports back, and is killed."""

from __future__ import annotations

import asyncio
import json
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from server.services import Services
from tests.crash.notes_work import opened
from tests.crash.traced import be_traced
from vaults.domain.actors import Actor
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.source_import import ImportPlan
from vaults.domain.import_export.vault_import import import_into_vault
from vaults.sources.jsonl import SOURCE

OWNER = Actor("owner", "owner")
MEMORIES, SESSIONS, NOTES = 1_000, 200, 12
DAY = "2026-11-20T09:00:00.000Z"


def write_source(path: Path) -> Path:
    """A file of lines that refer to each other, those of different kinds close together."""
    lines: list[dict[str, Any]] = []
    for n in range(MEMORIES):
        lines.append({"external_id": f"m{n}", "content": f"memoryword{n} of the import", "created_at": DAY})
        if n % 5 == 0:
            session = {"kind": "session", "external_id": f"s{n}", "started_at": DAY, "threads": [f"t{n}"]}
            event = {"kind": "event", "external_id": f"e{n}", "session": f"s{n}", "at": DAY, "type": "memory_stored"}
            lines += [session, {**event, "resource": f"m{n}"}]
        if n % 100 == 50:
            lines.append({"external_id": f"n{n}", "kind": "note", "path": f"in/{n}.md", "content": f"# Note {n}\n"})
            lines.append(
                {"external_id": f"l{n}", "kind": "link", "from": f"m{n}", "relation": "after", "to": f"m{n - 1}"}
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the vault, say ``ready``, wait for the word, import or undo, close. Each batch is said."""
    be_traced()
    asyncio.run(_work(Path(data), kind, flags, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    source = Path(flags.pop("source"))
    async with opened(data, flags) as services:
        pipe.send(("ready", os.getpid()))
        await asyncio.to_thread(pipe.recv)
        await (bring(services, source, pipe) if kind == "import" else take_back(services, pipe))


async def bring(services: Services, source: Path, pipe: Connection) -> None:
    """Import the source."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        plan = ImportPlan(SOURCE, source)
        await import_into_vault(vault, OWNER, plan, lambda tally: pipe.send((tally.done, tally.stored)))


async def take_back(services: Services, pipe: Connection) -> None:
    """Undo every import."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        for run in await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 100)):
            if run.undone_at is None:
                await run_undo.undo(vault, OWNER, run, lambda tally: pipe.send((tally.total, None)))

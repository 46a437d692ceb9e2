"""The process that migrates a field of thirty notes and is killed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.crash.notes_work import ask, opened
from tests.crash.traced import be_traced

NOTES = 30

SEED: Mapping[str, str] = {
    f"m/note{n}.md": f"---\n# mine\nstatus: open  # now\n---\n# Note\n\nseedword{n}\n" for n in range(NOTES)
}

MIGRATION: Mapping[str, Any] = {
    "action": "migrate", "field": "status", "mapping": {"open": "closed"}, "dry_run": False
}  # fmt: skip


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the vault, say ``ready``, wait for the word, migrate, close. Everything is said."""
    be_traced()
    asyncio.run(_work(Path(data), flags, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, flags: dict[str, Any], pipe: Connection) -> None:
    async with opened(data, flags) as services:
        pipe.send(("ready", os.getpid()))
        await asyncio.to_thread(pipe.recv)
        outcome = await ask(services, "schema", **MIGRATION)
        pipe.send((0, outcome.code or outcome.content["change"]))

"""The process that salvages a vault and is killed."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from server.cli.salvage import SalvageRequest, salvage_vault
from tests.crash.notes_work import opened
from tests.crash.traced import be_traced
from tests.harmed_vault import NAME
from vaults import pool_rounds

FLAGS = {"notes.watch": "off", "embedding.engine": "off"}


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Salvage the vault once the word comes."""
    be_traced()
    asyncio.run(_work(Path(data), pipe))
    pipe.send(("closed", None))


async def _work(data: Path, pipe: Connection) -> None:
    pool_rounds.SWEEP_AFTER_S = 1_000.0  # the look after a start would open the damaged vault, and write to it
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
    async with opened(data, FLAGS) as services:
        await salvage_vault(services, services.registry_cache.entry(NAME), SalvageRequest())

"""The process that salvages a vault and is killed."""

from __future__ import annotations

import asyncio
import ctypes
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from server.cli.salvage import SalvageRequest, salvage_vault
from tests.crash.notes_work import PR_SET_PTRACER, opened
from tests.harmed_vault import NAME

FLAGS = {"notes.watch": "off", "embedding.engine": "off"}


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Salvage the vault once the word comes."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, -1, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(_work(Path(data), pipe))
    pipe.send(("closed", None))


async def _work(data: Path, pipe: Connection) -> None:
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
    async with opened(data, FLAGS) as services:
        await salvage_vault(services, services.registry_cache.entry(NAME), SalvageRequest())

"""The process that writes an archive and is killed."""

from __future__ import annotations

import asyncio
import ctypes
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ops.backup.back_up import ArchiveOrder, Installation, back_up_vault
from server.settings import load
from tests.crash.notes_work import PR_SET_PTRACER
from vaults.db.connection import Database
from vaults.registry import list_vaults


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Write one archive of the first vault into the folder ``to``."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, -1, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(_work(Path(data), pipe))
    pipe.send(("closed", None))


async def _work(data: Path, pipe: Connection) -> None:
    settings = load(data, environment={}).settings
    control = Database(data / "control.db", settings.storage)
    home = Installation(data, control, data / "strongroom.toml", "0.1.0", settings.storage, settings.notes)
    (entry,) = await control.read(list_vaults)
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
    await back_up_vault(home, entry, ArchiveOrder(data / "to"))
    pipe.send((1, "made"))
    await control.close()

"""The process that writes an archive and is killed."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ops.backup.back_up import ArchiveOrder, Installation, back_up_vault
from server.settings import load
from tests.crash.traced import be_traced
from vaults.db.connection import Database
from vaults.registry import list_vaults


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Write one archive of the first vault into the folder ``to``."""
    be_traced()
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

"""The process that restores a vault and is killed."""

from __future__ import annotations

import asyncio
import ctypes
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ops.backup.archive_reader import open_archive
from ops.backup.restore import LivingInstallation, RestoreRequest, restore
from tests.crash.notes_work import PR_SET_PTRACER, opened


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the services, say ``ready``, wait for the word, restore the archive ``kind``, close. Everything is said."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, -1, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(_work(Path(data), Path(kind), flags, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, archive: Path, flags: dict[str, Any], pipe: Connection) -> None:
    async with opened(data, flags) as services:
        place = LivingInstallation(data, services.control, services.pool, services.settings.storage)
        pipe.send(("ready", os.getpid()))
        await asyncio.to_thread(pipe.recv)
        await restore(place, open_archive(archive), RestoreRequest())
        pipe.send((0, "restored"))

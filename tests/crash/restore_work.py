"""The process that restores a vault and is killed."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ops.backup.archive_reader import open_archive
from ops.backup.restore import LivingInstallation, RestoreRequest, restore
from tests.crash.notes_work import opened
from tests.crash.traced import be_traced


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the services, say ``ready``, wait for the word, restore, close. Everything is said. ``kind``: the archive,
    and after a colon the name of the new vault, if it is to be one."""
    be_traced()
    archive, _, name = kind.partition(":")
    asyncio.run(_work(Path(data), Path(archive), RestoreRequest(as_new=name or None), flags, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, archive: Path, request: RestoreRequest, flags: dict[str, Any], pipe: Connection) -> None:
    async with opened(data, flags) as services:
        place = LivingInstallation(data, services.control, services.pool, services.settings.storage)
        pipe.send(("ready", os.getpid()))
        await asyncio.to_thread(pipe.recv)
        await restore(place, open_archive(archive), request)
        pipe.send((0, "restored"))

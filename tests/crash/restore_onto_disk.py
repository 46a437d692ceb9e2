"""A vault whose folder is a disk of its own, and its restore.

``python -m tests.crash.restore_onto_disk made DATA`` makes a vault with a memory and its archive; ``… restored DATA``
restores it, ``… opened DATA`` opens it. Each prints a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ops.backup.archive_reader import open_archive
from ops.backup.archive_writer import write_archive
from ops.backup.restore import RestoreRequest, restore
from ops.backup.staging import StagedBackup
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from tests.conftest import QUIET, asker
from tests.crash.notes_work import ask, opened
from tests.fakes import HashEmbedder
from tests.ops.backup.restoring import back_up, contents_of, installation
from vaults.errors import StrongroomError


async def make(data: Path) -> dict[str, object]:
    data.mkdir()
    async with opened(data) as services:
        assert (await ask(services, "remember", content="the harbour closes at nine")).ok
        staged = await back_up(services, data.with_name("staged"))
        data.with_name("archives").mkdir()
        write_archive(StagedBackup(staged.folder, staged.manifest), data.with_name("archives"))
    return {"made": True}


@asynccontextmanager
async def opening(data: Path) -> AsyncIterator[Services]:
    """The services over ``data``, whether or not the vault can be opened."""
    loaded = load(data, flags=QUIET, environment={})
    async with open_services(loaded.settings, data, discover(), load_model=HashEmbedder) as services:
        yield services


async def restored(data: Path) -> dict[str, object]:
    (archive,) = data.with_name("archives").iterdir()
    before = sorted(each.name for each in (data / "vaults").iterdir())
    async with opening(data) as services:
        try:
            await restore(installation(services), open_archive(archive), RestoreRequest(vault="main"))
        except StrongroomError as failure:
            after = sorted(each.name for each in (data / "vaults").iterdir())
            return {"refused": failure.details.get("reason"), "as before": before == after}
        return {"holds": sorted(await contents_of(asker(services)))}


async def opened_again(data: Path) -> dict[str, object]:
    async with opening(data) as services:
        return {"holds": sorted(await contents_of(asker(services)))}


if __name__ == "__main__":
    act, place = sys.argv[1:]
    print(json.dumps(asyncio.run({"made": make, "restored": restored, "opened": opened_again}[act](Path(place)))))

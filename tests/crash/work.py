"""The process that is killed: does one kind of work on a data folder and prints what was acknowledged, line by line."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from auth.principal import owner
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from tests.crash import small_disk
from tests.fakes import HashEmbedder
from vaults.index import projection

NOT_AUDITED = "stored_not_audited"
"""Said of a memory that is stored, as the answer says, though the audit could not take it."""


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[Services]:
    """Services over ``data`` with a small model, snapshots of any size and vault main."""
    projection.SNAPSHOT_FROM = 1
    loaded = load(data, flags={"storage.reserve_mb": 0}, environment={})
    async with open_services(loaded.settings, data, discover(), load_model=HashEmbedder) as services:
        if not services.registry_cache.known("main"):
            await vault_admin.create(services, "main")
        yield services


async def store(services: Services, start: int, count: int) -> None:
    """Store ``count`` memories and say so after each acknowledgement."""
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")

    async def one(number: int) -> None:
        outcome = await dispatch(
            services, caller, "remember", {"content": f"memory{number} of the harbour word{number}"}
        )
        code = outcome.content["id"] if outcome.ok else small_disk.cause(outcome)
        if small_disk.done(outcome):
            code = NOT_AUDITED
        print(number, code, flush=True)

    for first in range(start, start + count, 4):
        await asyncio.gather(*(one(number) for number in range(first, min(first + 4, start + count))))


async def change(services: Services) -> None:
    """Update, supersede and purge what ``store`` left, saying so after each acknowledgement."""
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    page = await dispatch(services, caller, "memory_list", {"order": "oldest", "limit": 9})
    for number, memory in enumerate(page.content["memories"]):
        one = memory["id"]
        if number % 3 == 0:
            await dispatch(services, caller, "memory_update", {"id": one, "content": f"{memory['content']} changed"})
        elif number % 3 == 1:
            await dispatch(services, caller, "memory_supersede", {"id": one, "content": f"successor of word{number}"})
        else:
            await dispatch(services, caller, "memory_forget", {"ids": [one], "purge": True})
        print(number, one, flush=True)


async def main(kind: str, data: Path, start: int, count: int) -> None:
    async with opened(data) as services:
        if kind == "store":
            await store(services, start, count)
        elif kind == "change":
            await change(services)
    print("closed", "closed", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))

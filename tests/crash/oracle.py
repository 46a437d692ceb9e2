"""What must hold after whatever happened to a process."""

from __future__ import annotations

import asyncio
from pathlib import Path

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import asker
from tests.crash.work import opened
from tests.work import PATIENCE_S
from vaults.domain.maintenance.verification import verify


async def settled(services: Services) -> None:
    """Until the vectors that were owed are paid."""
    async with asyncio.timeout(PATIENCE_S), services.pool.lease(services.registry_cache.entry("main")) as vault:
        vault.start_background_work()
        while vault.background.is_busy:
            await asyncio.wait({vault.background.due_work})  # type: ignore[arg-type]


async def check(data: Path, acknowledged: dict[int, str]) -> set[str]:
    """Every acknowledged memory is there, by id, word and meaning; every other one is whole; everything derived
    agrees; the database is sound. Returns the contents found."""
    async with opened(data) as services:
        ask = asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"))
        await settled(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            report = await verify(vault)
            assert report.agrees, report
            sound = await vault.db.run_on_writer(lambda raw: raw.execute("PRAGMA integrity_check").fetchall())
            assert sound == [("ok",)]
            assert not await vault.db.run_on_writer(lambda raw: raw.execute("PRAGMA foreign_key_check").fetchall())
        for number, memory in acknowledged.items():
            got = (await ask("memory_get", ids=[memory])).content["memories"]
            assert got, f"acknowledged memory {number} is gone"
            for mode in ("keyword", "semantic"):
                found = await ask("recall", query=got[0]["content"], mode=mode, limit=3)
                assert memory in {hit["id"] for hit in found.content["hits"]}, (number, mode)
        everything = (await ask("memory_list", limit=200, max_tokens=100_000, include_archived=True)).content[
            "memories"
        ]
        return {memory["content"] for memory in everything}

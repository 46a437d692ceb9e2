"""A vault's folder of notes, for tests: put files there, and wait until the index has seen them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from server.services import Services
from tests.work import PATIENCE_S
from vaults.db.sql import Reader
from vaults.domain.graph.graph_jobs import update_centrality
from vaults.index import embeddings


def folder(data: Path, vault: str = "main") -> Path:
    """Where a vault below ``data`` keeps its notes; made if it is not there yet."""
    root = data / "vaults" / vault / "notes"
    root.mkdir(parents=True, exist_ok=True)
    return root


def put(root: Path, notes: Mapping[str, str | bytes]) -> None:
    """Write files as another program would."""
    for path, text in notes.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())


async def until(services: Services, holds: Callable[[Reader], bool], vault: str = "main") -> None:
    """Wait until something holds of a vault's rows."""
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened, asyncio.timeout(PATIENCE_S):
        while True:
            if await opened.db.read(holds):
                return
            await asyncio.sleep(0.01)


async def indexed(services: Services, number: int, vault: str = "main") -> None:
    """Wait until so many notes are in the index, and the first look at the folder is over."""

    def all_there(tx: Reader) -> bool:
        return int(tx.value("SELECT COUNT(*) FROM notes")) == number

    await until(services, all_there, vault)
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
        assert await opened.notes.wait_for_index(PATIENCE_S)


async def settled(services: Services, vault: str = "main") -> None:
    """Have done at once what a vault owes itself: by itself it waits for seconds without a change."""
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
        await update_centrality(opened)
        opened.start_background_work()
        await until(services, lambda tx: not (opened.has_due_jobs(tx) or embeddings.count_missing(tx)), vault)

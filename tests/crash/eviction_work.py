"""The process that lets documents go and is killed."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from server.services import Services
from tests.crash.notes_work import opened
from tests.crash.traced import be_traced
from tests.work import PATIENCE_S
from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import storage
from vaults.domain.documents.document_model import DocumentFields, DocumentPart
from vaults.domain.maintenance import eviction
from vaults.vault import Vault

FLAGS = {"notes.watch": "off", "embedding.engine": "off"}
LIMIT = {**FLAGS, "storage.kinds": {"transcript": {"max_size": "3KB"}}}
DOCUMENTS, TURNS = 5, 40
OWNER = Actor("owner", "owner")


async def fill(data: Path) -> None:
    """Transcripts of which one may stay, and a document that has nothing to do with it."""
    async with opened(data, FLAGS) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        for number in range(DOCUMENTS):
            await _store(vault, "transcript", number)
        await _store(vault, "document", DOCUMENTS)


async def _store(vault: Vault, kind: Any, number: int) -> None:
    at = clock.ago(86_400 * (100 - number))
    parts = [
        DocumentPart(n, f"{kind}word{number} turn {n} of the tides and piers", role=f"r{n % 2}", at=at)
        for n in range(TURNS)
    ]
    fields = DocumentFields(kind, kind, f"{kind} {number}", at, at, external_id=f"{kind}-{number}")
    prepared = storage.prepare(vault, fields, parts)

    def write(tx: Writer) -> None:
        storage.insert(vault, tx, OWNER, prepared)

    await vault.db.write(write)


async def kept(services: Services) -> None:
    """Until nothing in vault main is above its limits any more."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault, asyncio.timeout(PATIENCE_S):
        while await vault.db.read(lambda tx: eviction.is_eviction_due(vault, tx)):
            vault.start_background_work()
            await vault.background.wait()


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the vault under its limits once the word comes, and wait until they are kept."""
    be_traced()
    asyncio.run(_work(Path(data), pipe))
    pipe.send(("closed", None))


async def _work(data: Path, pipe: Connection) -> None:
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
    async with opened(data, LIMIT) as services:
        await kept(services)

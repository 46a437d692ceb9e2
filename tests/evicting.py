"""A vault under limits of storage, and items that were used long ago."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Opening
from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import storage
from vaults.domain.documents.document_model import Document, DocumentFields, DocumentPart
from vaults.domain.maintenance import eviction, eviction_log
from vaults.vault import BackgroundJob, Vault

OWNER = Actor("local|owner", "owner")
DAY = 86_400


IDLE = BackgroundJob("evict", lambda _: False, eviction.run_in_background)


@asynccontextmanager
async def limited(opening: Opening, *, unasked: bool = False, **limits: Any) -> AsyncIterator[tuple[Vault, Services]]:
    """Vault main under limits. ``unasked``: its background job runs at once; else nothing goes before the test says
    so."""
    flags = {f"storage.{name}": value for name, value in limits.items()} | {"embedding.engine": "off"}
    with pytest.MonkeyPatch.context() as patch:
        if not unasked:
            patch.setattr(eviction, "make_job", lambda _: IDLE)
        async with opening(flags) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
            if unasked:
                await vault.background.wait()
            yield vault, services


async def stored(
    vault: Vault,
    name: str,
    days: float,
    kind: str = "transcript",
    *,
    words: int = 60,
    ago: float = 0,
    owner: Actor = OWNER,
    **more: Any,
) -> Document:
    """A document last changed so many days ago, and stored ``ago`` days ago, as its id tells."""
    at = clock.ago(days * DAY)
    parts = [DocumentPart(n, f"{name} {n} " + f"harbour{n} " * words, role="user", at=at) for n in range(3)]
    fields = DocumentFields(kind, kind, f"About {name}", at, at, external_id=name, **more)  # type: ignore[arg-type]
    prepared = storage.prepare(vault, fields, parts)

    def write(tx: Writer) -> Document:
        document = storage.insert(vault, tx, owner, prepared)
        if ago:
            tx.run(
                "UPDATE documents SET id = :id WHERE seq = :seq", {"id": aged(document.id, ago), "seq": document.seq}
            )
            tx.run(
                "UPDATE passages SET parent = :id WHERE parent = :was",
                {"id": aged(document.id, ago), "was": document.id},
            )
        return replace(document, id=aged(document.id, ago)) if ago else document

    return await vault.db.write(write)


def aged(item_id: str, days: float) -> str:
    """The id an item had got so many days earlier."""
    made = int(item_id.replace("-", "")[:12], 16) - int(days * DAY * 1000)
    early = f"{made:012x}"
    return f"{early[:8]}-{early[8:]}{item_id[13:]}"


async def names(vault: Vault) -> list[str]:
    rows = await vault.db.read(lambda tx: tx.all("SELECT title FROM documents ORDER BY title"))
    return [title.removeprefix("About ") for (title,) in rows]


async def log(vault: Vault, viewer: str | None = None) -> list[tuple[str, str, str]]:
    found = await vault.db.read(lambda tx: eviction_log.list_log(tx, viewer, 100))
    return [(each.title.removeprefix("About "), each.reason, each.state) for each in reversed(found)]


async def value(vault: Vault, sql: str) -> Any:
    return await vault.db.read(lambda tx: tx.value(sql))

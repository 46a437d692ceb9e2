"""What runs over a limit goes, the least recently used first, and nothing that is pinned; what went comes back.

Covers vaults.domain.maintenance.eviction, eviction_candidates, eviction_copies, eviction_log, eviction_need,
eviction_run, eviction_undo.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import storage
from vaults.domain.documents.document_model import Document, DocumentFields, DocumentPart
from vaults.domain.maintenance import eviction, eviction_log, eviction_need, eviction_undo
from vaults.domain.maintenance.verification import verify
from vaults.vault import Vault

OWNER = Actor("local|owner", "owner")
DAY = 86_400


@asynccontextmanager
async def limited(opening: Opening, **storage_flags: Any) -> AsyncIterator[tuple[Vault, Services]]:
    """Vault main under limits; nothing goes before it is asked for."""
    flags = {f"storage.{name}": value for name, value in storage_flags.items()} | {"embedding.engine": "off"}
    async with opening(flags) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        yield vault, services


async def stored(
    vault: Vault, name: str, days: float, kind: str = "transcript", *, words: int = 60, ago: float = 0, **more: Any
) -> Document:
    """A document last changed so many days ago, and stored ``ago`` days ago, as its id tells."""
    at = clock.ago(days * DAY)
    parts = [DocumentPart(n, f"{name} {n} " + f"harbour{n} " * words, role="user", at=at) for n in range(3)]
    fields = DocumentFields(kind, kind, f"About {name}", at, at, external_id=name, **more)  # type: ignore[arg-type]
    prepared = storage.prepare(vault, fields, parts)

    def write(tx: Writer) -> Document:
        document = storage.insert(vault, tx, OWNER, prepared)
        if ago:
            tx.run(
                "UPDATE documents SET id = :id WHERE seq = :seq", {"id": aged(document.id, ago), "seq": document.seq}
            )
            tx.run(
                "UPDATE passages SET parent = :id WHERE parent = :was",
                {"id": aged(document.id, ago), "was": document.id},
            )
        return document

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


async def test_eviction_by_retention_lets_go_what_was_not_used_for_so_long(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, _):
        for name, days in (("old", 100), ("older", 200), ("new", 10)):
            await stored(vault, name, days, ago=days)
        report = await eviction.evict(vault)
        assert await names(vault) == ["new"]
        assert await log(vault) == [("older", "retention", "gone"), ("old", "retention", "gone")]
        assert (report.went, report.problem, report.is_whole) == ({"transcript": 2}, None, True)
        assert (await verify(vault)).agrees

"""The vector index beside purges and reindexing: calls go on, little is replayed, nothing purged stays.

Covers vaults.index.embeddings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from vaults.db.sql import Reader
from vaults.domain.maintenance import reindexing
from vaults.index import embeddings, projection
from vaults.index.shelves import MAIN, Shelf
from vaults.vault import Vault

COUNT = 200


@asynccontextmanager
async def main_of(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        yield vault


async def stored(ask: Asking, count: int) -> list[str]:
    ids: list[str] = []
    for start in range(0, count, 20):
        wave = (ask("remember", content=f"kept number {at} of a pile") for at in range(start, start + 20))
        ids += [answer.content["id"] for answer in await asyncio.gather(*wave)]
    return ids


async def beside(ask: Asking, work: Awaitable[None]) -> list[str | None]:
    """Codes of the calls answered while ``work`` goes on."""
    codes: list[str | None] = []
    running = asyncio.ensure_future(work)

    async def calls(one: Callable[[int], Awaitable[object]]) -> None:
        at = 0
        while not running.done():
            codes.append((await one(at)).code)  # type: ignore[attr-defined]
            at += 1

    await asyncio.gather(
        *(calls(lambda at, who=who: ask("recall", query=f"pile {who} {at}")) for who in range(3)),  # type: ignore[misc]
        *(calls(lambda at, who=who: ask("remember", content=f"new {who} {at}")) for who in range(2)),  # type: ignore[misc]
        running,
    )
    return codes


async def test_calls_beside_purges_are_answered(ask: Asking) -> None:
    ids = await stored(ask, 20)

    async def purge() -> None:
        for one in ids:
            assert (await ask("memory_forget", ids=[one], purge=True)).ok

    assert set(await beside(ask, purge())) == {None}


async def test_calls_beside_reindexing_are_answered(services: Services, ask: Asking) -> None:
    await stored(ask, 20)

    async def reindex() -> None:
        async with main_of(services) as vault:
            for _ in range(3):
                await reindexing.reindex(vault)

    assert set(await beside(ask, reindex())) == {None}


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each replay took from the database."""
    counts: list[int] = []

    def since(
        tx: Reader,
        seen: int,
        model: str,
        shelf: Shelf = MAIN,
        real: Callable[..., embeddings.VectorDelta] = embeddings.changes_since,
    ) -> object:
        delta = real(tx, seen, model, shelf)
        counts.append(len(delta.changes))
        return delta

    monkeypatch.setattr(embeddings, "changes_since", since)
    monkeypatch.setattr(projection, "SNAPSHOT_FROM", 1)
    return counts


async def test_a_purge_in_a_loaded_index_replays_no_more_than_it_removed(ask: Asking, replayed: list[int]) -> None:
    ids = await stored(ask, COUNT)
    assert (await ask("recall", query="pile")).content["hits"]
    assert sum(replayed) >= COUNT
    replayed.clear()
    assert (await ask("memory_forget", ids=ids[:3], purge=True)).ok
    hits = (await ask("recall", query="kept number 0 of a pile", limit=100)).content["hits"]
    assert hits
    assert not {hit["id"] for hit in hits} & set(ids[:3])
    assert sum(replayed) <= 3


async def test_a_purge_in_a_saved_index_replays_no_more_than_it_removed(opening: Opening, replayed: list[int]) -> None:
    async with opening() as services:
        ids = await stored(asker(services), COUNT)
        assert (await asker(services)("recall", query="pile")).ok
    for one in ids[:2]:  # by a process that did nothing before, as a command does
        replayed.clear()
        async with opening() as services:
            assert (await asker(services)("memory_forget", ids=[one], purge=True)).ok
            assert (await asker(services)("recall", query="pile")).ok
        assert sum(replayed) <= 1


async def test_nothing_of_a_purged_vector_is_in_any_file(opening: Opening, replayed: list[int], tmp_path: Path) -> None:
    async with opening() as services:
        one = (await asker(services)("remember", content="the purged one alone")).content["id"]
        await stored(asker(services), COUNT)
        assert (await asker(services)("recall", query="pile")).ok
    saved = tmp_path / "vaults" / "main" / MAIN.snapshot
    async with opening() as services:
        async with main_of(services) as vault:
            held = await vault.db.read(lambda tx: tx.value("SELECT vector FROM embeddings ORDER BY passage LIMIT 1"))
        assert held in saved.read_bytes()
        assert (await asker(services)("memory_forget", ids=[one], purge=True)).ok
        assert not saved.exists() or held not in saved.read_bytes()
    assert saved.exists(), "it is saved again"
    for path in saved.parent.rglob("*"):
        assert not path.is_file() or held not in path.read_bytes(), path.name


async def test_an_index_that_has_not_seen_a_purge_yet_is_not_saved_as_it_is(
    opening: Opening, replayed: list[int], tmp_path: Path
) -> None:
    """Another process, a command, purged beside a server."""
    async with opening() as services, opening() as other:
        one = (await asker(services)("remember", content="the purged one alone")).content["id"]
        await stored(asker(services), COUNT)
        assert (await asker(services)("recall", query="pile")).ok
        async with main_of(services) as vault:
            first = await vault.db.read(lambda tx: tx.value("SELECT vector FROM embeddings ORDER BY passage LIMIT 1"))
            assert (await asker(other)("memory_forget", ids=[one], purge=True)).ok
            await vault.settle()
            saved = tmp_path / "vaults" / "main" / MAIN.snapshot
            assert not saved.exists() or first not in saved.read_bytes()

"""Vaults whose vectors come from an endpoint: what callers see while it is away, and after its model was exchanged.

Covers vaults.embed.model_watch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Opening, asker
from tests.embedding_servers import EmbeddingServer, embedding_server
from tests.fakes import HashEmbedder
from tests.work import PATIENCE_S
from vaults import pool_inspections, pool_rounds
from vaults.embed import endpoint_connection, endpoint_engine, worker
from vaults.errors import EmbeddingUnavailable


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_connection, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(worker, "_BACKOFF_S", (0.0, 0.0))


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as running:
        yield running


def flags_for(server: EmbeddingServer, **more: Any) -> dict[str, Any]:
    where = {"engine": "endpoint", "endpoint": server.url(), "model": "some-model"}
    return {f"embedding.{name}": value for name, value in where.items()} | more


async def pending(services: Services) -> int:
    found = await asker(services)("status")
    assert found.ok
    return int(found.content["embedding"]["pending"])


async def caught_up(services: Services, vault: str = "main") -> None:
    """Until no vector is owed: the pool's rounds go on."""
    async with asyncio.timeout(PATIENCE_S):
        while await pending(services):
            await services.pool.rounds.run_round()
            async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
                await opened.background.wait()


async def test_while_it_is_away_words_answer_and_writes_wait(opening: Opening, server: EmbeddingServer) -> None:
    async with opening(flags_for(server), load_model=None) as services:
        ask = asker(services)
        assert (await ask("remember", content="the winch is greased")).content["embedding"] == "ready"
        await server.stop()
        kept = (await ask("remember", content="the anchor is new")).content
        found = (await ask("search", query="an anchor", mode="semantic")).content
        assert (kept["embedding"], found["mode_used"]) == ("pending", "keyword")
        assert [hit["id"] for hit in found["hits"]] == [kept["id"]]
        assert any("the endpoint cannot be reached" in warning for warning in found["warnings"])
        status = (await ask("status")).content["embedding"]
        assert status["reason"] == "the endpoint cannot be reached"
        assert status["status"] in ("failed", "loading"), "it is asked again in the background"
        await server.start()
        await caught_up(services)
        found = (await ask("search", query="an anchor", mode="semantic")).content
        assert (found["mode_used"], found["hits"][0]["id"]) == ("semantic", kept["id"])
        assert "warnings" not in found


async def test_a_vault_that_was_closed_meanwhile_catches_up_unasked(
    opening: Opening, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_rounds, "REST_S", 0.0)
    # What opens vaults after a start for reasons of its own.
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 3600.0)
    monkeypatch.setattr(pool_inspections, "INSPECT_S", 3600.0)
    async with opening(flags_for(server, **{"storage.idle_close_s": 1e-6}), load_model=None) as services:
        ask = asker(services)
        await ask("remember", content="the winch is greased")
        await server.stop()
        assert (await ask("remember", content="the anchor is new")).content["embedding"] == "pending"
        while services.pool.open_count:
            await services.pool.rounds.run_round()
            await asyncio.sleep(0)
        asked = len(server.seen)
        await server.start()
        async with asyncio.timeout(PATIENCE_S):
            while not any("anchor" in text for each in server.seen[asked:] for text in each.texts):
                await services.pool.rounds.run_round()
                await asyncio.sleep(0)


async def test_a_model_exchanged_while_it_serves_has_closed_vaults_embedded_anew_unasked(
    opening: Opening, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_engine, "PROBE_AGAIN_S", 0.0)
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 3600.0)
    monkeypatch.setattr(pool_inspections, "INSPECT_S", 3600.0)
    async with opening(flags_for(server, **{"storage.idle_close_s": 1e-6}), load_model=None) as services:
        await asker(services)("remember", content="the winch is greased")
        while services.pool.open_count:
            await services.pool.rounds.run_round()
            await asyncio.sleep(0)
        server.model, asked = HashEmbedder(width=48), len(server.seen)
        for _ in range(2):  # the first finds out
            with suppress(EmbeddingUnavailable):
                await services.embedder.texts(["another vault's"], urgent=False)
        async with asyncio.timeout(PATIENCE_S):
            while not any("winch" in text for each in server.seen[asked:] for text in each.texts):
                await services.pool.rounds.run_round()
                await asyncio.sleep(0)


async def test_a_model_exchanged_under_the_same_name_has_vaults_embedded_anew(
    opening: Opening, server: EmbeddingServer
) -> None:
    for model in (HashEmbedder(), HashEmbedder(width=48), HashEmbedder(width=48)):
        server.model, asked = model, len(server.seen)
        async with opening(flags_for(server), load_model=None) as services:
            ask = asker(services)
            await ask("remember", content="the winch is greased", on_duplicate="return")
            await ask("search", query="greased winch")
            await services.pool.rounds.run_round()
            await caught_up(services)
            found = (await ask("search", query="greased winch", mode="semantic")).content
            assert found["mode_used"] == "semantic"
            assert found["hits"][0]["text"] == "the winch is greased"
            assert (await ask("status")).content["embedding"]["width"] == model.identity.width
        sent = [text for each in server.seen[asked:] for text in each.texts]
    assert sent.count("the winch is greased") <= 1, "known again: what is stored is not sent once more"

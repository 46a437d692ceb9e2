"""A vault embedded by an Ollama-shaped server: it answers by meaning, survives an outage, and goes back to the bundled
model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening
from tests.e2e.test_working_day import asking
from tests.embedding_servers import EmbeddingServer, embedding_server
from tests.server.http.serving import served
from tests.server.test_golden_queries import assert_golden_queries_find_their_answer
from tests.work import PATIENCE_S
from vaults.embed.engines import load_embedder
from vaults.settings import EmbeddingSettings

QUESTIONS = {
    "When do we save copies of the data?": "The nightly backup of the archive starts at two in the morning.",
    "How do people get into the building?": "The front door opens with the blue badge; visitors ring the bell.",
    "Who mends the heating?": "Call Ingrid, the plumber, if the boiler loses pressure again.",
    "What is the fastest way to the sea?": "From the office, tram nine stops at the beach after ten minutes.",
}
"""A question, and the memory that answers it in other words."""

LATE_QUESTION, LATE = "What do cats eat here?", "The tabby on the quay is fed tinned tuna at noon."


def endpoint_of(server: EmbeddingServer) -> dict[str, Any]:
    return {"embedding.engine": "endpoint", "embedding.endpoint": server.url(), "embedding.model": "all-minilm"}


async def caught_up(ask: Any, engine: str = "endpoint") -> None:
    """Until this engine answers, and owes no vector."""
    async with asyncio.timeout(PATIENCE_S):
        while not _is_caught_up((await ask("status"))["embedding"], engine):  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.1)


def _is_caught_up(state: dict[str, Any], engine: str) -> bool:
    return state["engine"] == engine and not state["pending"] and not state.get("change")


async def assert_found_by_meaning(ask: Any, question: str, text: str) -> None:
    found = await ask("search", query=question, mode="semantic", limit=3)
    assert (found["mode_used"], found["hits"][0]["text"]) == ("semantic", text), question


@pytest.mark.e2e
async def test_a_vault_lives_by_an_endpoint_through_its_outage_and_without_it(tmp_path: Path) -> None:
    async with embedding_server(model=load_embedder(EmbeddingSettings())) as server:
        async with (
            served(tmp_path / "data", **endpoint_of(server)) as site,
            site.client("owner", query="?tools=full") as client,
        ):
            ask = asking(client)
            for text in QUESTIONS.values():
                await ask("remember", content=text)
            await caught_up(ask)
            for question, text in QUESTIONS.items():
                await assert_found_by_meaning(ask, question, text)

            await server.stop()
            assert (await ask("remember", content=LATE))["embedding"] == "pending"
            found = await ask("search", query="the tabby's tuna")
            assert (found["mode_used"], found["hits"][0]["text"]) == ("keyword", LATE)
            assert any("the endpoint cannot be reached" in warning for warning in found["warnings"])

            await server.start()
            await caught_up(ask)
            await assert_found_by_meaning(ask, LATE_QUESTION, LATE)

        asked = len(server.seen)
        async with (
            served(tmp_path / "data", **{"embedding.engine": "auto"}) as site,
            site.client("owner", query="?tools=full") as client,
        ):
            ask = asking(client)
            await ask("search", query="anything")  # the first need of a model
            await ask("search", query="which it was adopted for")
            await caught_up(ask, "onnx")
            for question, text in {**QUESTIONS, LATE_QUESTION: LATE}.items():
                await assert_found_by_meaning(ask, question, text)
        assert len(server.seen) == asked, "nothing goes there any more"


@pytest.mark.e2e
async def test_the_golden_queries_find_their_answer_by_an_endpoint(opening: Opening) -> None:
    async with (
        embedding_server(model=load_embedder(EmbeddingSettings())) as server,
        opening(endpoint_of(server), load_model=None) as services,
    ):
        await assert_golden_queries_find_their_answer(services)

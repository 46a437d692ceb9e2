"""A trial counts what a model finds, and says why it could not be made."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.embedding_servers import Seen, embedding_server
from tests.fakes import HashEmbedder
from vaults.embed.model_trial import JudgedTexts, ModelTrial, TrialRequest, try_apart, try_model
from vaults.settings import EmbeddingSettings

JUDGED = JudgedTexts(
    texts=("the blue harbour at noon", "tides and tables", "ships of the harbour", "a gull"),
    items=(0, 1, 2, 2),
    questions=(("blue noon harbour", 0), ("tides", 1), ("winch grease", 1), ("the gull", 2)),
)


async def trial(server: Any, judged: JudgedTexts = JUDGED) -> ModelTrial:
    settings = EmbeddingSettings(engine="endpoint", endpoint=server.url(), model="e5-small")
    return await asyncio.to_thread(try_model, TrialRequest(settings, judged))


async def test_what_is_found_first_and_among_ten_is_counted() -> None:
    async with embedding_server(model=HashEmbedder(256)) as server:
        found = await trial(server)
    assert (found.width, found.engine) == (256, "endpoint")
    assert found.quality is not None
    assert (found.quality.questions, found.quality.recall_at_1, found.quality.recall_at_10) == (4, 0.75, 1.0)
    assert 0.75 < found.quality.mrr < 1
    assert min(found.texts_per_s, found.query_ms) > 0
    assert "query: tides" in server.texts, "with what the model wants before a question"
    assert "passage: tides and tables" in server.texts


async def test_a_model_that_tells_nothing_apart_finds_nothing_first() -> None:
    class Same(HashEmbedder):
        def _vector(self, text: str) -> Any:
            return super()._vector("always this")

    async with embedding_server(model=Same()) as server:
        found = await trial(server)
    assert found.quality is not None
    assert (found.quality.recall_at_1, found.quality.mrr) == (0.0, round(1 / 3, 3))


async def test_without_questions_only_speed_is_measured() -> None:
    async with embedding_server() as server:
        found = await trial(server, JudgedTexts(("one text",), (0,), ()))
        sent = [each for each in server.seen if isinstance(each, Seen)]
    assert (found.quality, found.width) == (None, 32)
    assert sent


async def test_a_trial_apart_says_why_there_is_none() -> None:
    request = TrialRequest(EmbeddingSettings(model="/no/such/model"), JUDGED)
    assert "is not on this machine" in str(await try_apart(request))

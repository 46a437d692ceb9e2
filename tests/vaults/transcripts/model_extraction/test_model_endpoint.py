"""Asking a real server on loopback, that misbehaves in every way.

Covers vaults.transcripts.model_extraction.language_model.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.vaults.transcripts.model_extraction.completions import Answer, Completions, failing
from vaults.transcripts.model_extraction.answer import answer_schema
from vaults.transcripts.model_extraction.language_model import MAX_ANSWER, BadAnswer, ModelReply, ModelUnavailable
from vaults.transcripts.model_extraction.model_endpoint import ATTEMPTS, LONGEST_WAIT_S, ModelEndpoint
from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS

SCHEMA = answer_schema(MODEL_KINDS)


@pytest.fixture
def completions() -> Iterator[Completions]:
    running = Completions()
    yield running
    running.close()


class Waits:
    """Takes down what would be waited for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@contextlib.asynccontextmanager
async def asking(url: str, key: str | None = None, timeout_s: float = 30.0) -> AsyncIterator[tuple[Any, Waits]]:
    waits = Waits()
    endpoint = ModelEndpoint(url, "small", key, timeout_s, wait=waits, jitter=lambda: 1.0)
    try:
        yield endpoint, waits
    finally:
        await endpoint.close()


async def test_the_prompt_is_sent_with_its_schema_and_the_text_comes_back(completions: Completions) -> None:
    completions.text = "two words"
    async with asking(completions.base, "sk-1") as (endpoint, waits):
        assert await endpoint.ask("what?", SCHEMA) == ModelReply("two words", 50)
    [(path, headers)], [body] = completions.heads, completions.asked
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-1")
    assert (body["model"], body["messages"]) == ("small", [{"role": "user", "content": "what?"}])
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert waits.seconds == []


async def test_without_a_key_none_is_sent_and_tokens_may_be_missing(completions: Completions) -> None:
    completions.tokens = "many"
    async with asking(f"{completions.base}/") as (endpoint, _):
        assert (await endpoint.ask("a lone \ud800", SCHEMA)).tokens is None
    assert completions.heads[0][0] == "/v1/chat/completions"
    assert "authorization" not in completions.heads[0][1]


async def test_a_busy_endpoint_is_asked_again(completions: Completions) -> None:
    completions.script = [failing(429), failing(503)]
    async with asking(completions.base) as (endpoint, waits):
        assert await endpoint.ask("what?", SCHEMA)
    assert waits.seconds == [1.0, 2.0]


async def test_what_it_asks_for_is_waited_within_bounds(completions: Completions) -> None:
    completions.script = [failing(429, retry_after="7"), failing(429, retry_after="tomorrow")]
    async with asking(completions.base) as (endpoint, waits):
        await endpoint.ask("what?", SCHEMA)
        assert waits.seconds == [8.0, 2.0]
        completions.script = [failing(429, retry_after=str(LONGEST_WAIT_S + 1))]
        with pytest.raises(ModelUnavailable, match="answered 429"):
            await endpoint.ask("what?", SCHEMA)
    assert len(waits.seconds) == 2


async def test_one_that_stays_broken_is_given_up(completions: Completions) -> None:
    completions.script = [failing(500)] * (ATTEMPTS + 1)
    async with asking(completions.base) as (endpoint, waits):
        with pytest.raises(ModelUnavailable, match="answered 500"):
            await endpoint.ask("what?", SCHEMA)
    assert (len(completions.asked), waits.seconds) == (ATTEMPTS, [1.0, 2.0, 4.0])


def completed(request: BaseHTTPRequestHandler, body: bytes, **headers: str) -> None:
    Completions.reply(request, 200, body, **headers)


UNAVAILABLE: dict[str, tuple[Answer, str]] = {
    "refused": (failing(401), "answered 401"),
    "redirect": (failing(307, location="/elsewhere"), "answered 307"),
    "hang-up": (lambda request: request.connection.shutdown(socket.SHUT_RDWR), "cannot be reached"),
}
BAD: dict[str, tuple[bytes, str]] = {
    "garbage": (b"secret words", "no completion"),
    "half": (b'{"choices": [{"message": {"cont', "no completion"),
    "no choice": (b'{"choices": []}', "no completion"),
    "a list": (b"[1]", "no completion"),
    "nested": (b"[" * 60_000, "no completion"),
    "refusal": (json.dumps({"choices": [{"message": {"content": None}}]}).encode(), "no text"),
    "endless": (b" " * (MAX_ANSWER + 1), "too long"),
}


@pytest.mark.parametrize("kind", UNAVAILABLE)
async def test_an_endpoint_that_refuses_is_asked_once(completions: Completions, kind: str) -> None:
    answer, reason = UNAVAILABLE[kind]
    completions.script = [answer]
    async with asking(completions.base) as (endpoint, _):
        with pytest.raises(ModelUnavailable, match=reason):
            await endpoint.ask("what?", SCHEMA)
    assert len(completions.asked) == 1


@pytest.mark.parametrize("kind", BAD)
async def test_an_answer_of_no_use_is_told_from_none(completions: Completions, kind: str) -> None:
    body, reason = BAD[kind]
    completions.script = [lambda request: completed(request, body)]
    async with asking(completions.base) as (endpoint, _):
        with pytest.raises(BadAnswer, match=reason) as failed:
            await endpoint.ask("what?", SCHEMA)
    assert "secret" not in failed.value.reason


async def test_a_compressed_answer_is_not_unpacked(completions: Completions) -> None:
    completions.script = [lambda request: completed(request, gzip.compress(b"{}"), content_encoding="gzip")]
    async with asking(completions.base) as (endpoint, _):
        with pytest.raises(BadAnswer, match="compressed"):
            await endpoint.ask("what?", SCHEMA)


async def test_one_that_says_nothing_is_left_after_the_time_out(completions: Completions) -> None:
    completions.script = [lambda _: completions.released.wait() and None]
    async with asking(completions.base, timeout_s=0.2) as (endpoint, waits):
        with pytest.raises(ModelUnavailable, match=r"within 0\.2 s"):
            await endpoint.ask("what?", SCHEMA)
    assert (len(completions.asked), waits.seconds) == (1, [])


async def test_no_proxy_of_the_environment_is_used(completions: Completions, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with asking(completions.base) as (endpoint, _):
        assert await endpoint.ask("what?", SCHEMA)

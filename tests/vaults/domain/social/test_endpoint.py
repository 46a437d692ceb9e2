"""A real server on loopback that misbehaves: nothing is followed, waited for or read without end.

Covers vaults.endpoint_client.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from tests.moltbook import KEY, Network, always, answered, moltbook
from vaults.domain.social.api_answer import ApiAnswer, ApiRequest, path_of
from vaults.domain.social.endpoint import REQUESTS, SIZE_LIMIT, MoltbookEndpoint
from vaults.errors import Overloaded, RateLimited, Timeout

ME = ApiRequest("GET", path_of("agents", "me"))


@pytest.fixture
async def network() -> AsyncIterator[Network]:
    async with moltbook() as running:
        yield running


@asynccontextmanager
async def reaching(url: str, **more: Any) -> AsyncIterator[MoltbookEndpoint]:
    endpoint = MoltbookEndpoint(url, **more)
    try:
        yield endpoint
    finally:
        await endpoint.close()


async def test_it_sends_what_the_api_takes(network: Network) -> None:
    network.reply = always(answered)
    body = {"title": "Ébb \ud800", "submolt": "x", "url": None}
    request = ApiRequest("POST", path_of("posts"), {"a": "b c", "none": None}, body)
    async with reaching(network.url) as endpoint:
        assert (await endpoint.send("v", request, KEY)).ok
    seen = network.seen[0]
    assert (seen.method, seen.path, seen.query) == ("POST", "/posts", {"a": "b c"})
    assert seen.body == {"title": "Ébb \ud800", "submolt": "x"}
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert (seen.headers["content-type"], seen.headers["accept-encoding"]) == ("application/json", "identity")


async def test_no_proxy_comes_from_the_environment(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with reaching(network.url) as endpoint:
        assert (await endpoint.send("v", ME, KEY)).ok


async def test_a_redirect_is_an_answer(network: Network) -> None:
    network.reply = always(lambda: RedirectResponse(f"{network.url}/elsewhere"))
    async with reaching(network.url) as endpoint:
        answer = await endpoint.send("v", ME, KEY)
    assert (answer.status, answer.ok, len(network.seen)) == (307, False, 1)


async def test_a_silent_network_is_left(network: Network) -> None:
    asked, over = asyncio.Event(), asyncio.Event()

    async def silent(_: Request) -> Response:
        asked.set()
        await over.wait()
        return answered()

    network.reply = silent
    limit = 0.05
    while not asked.is_set():  # on a busy machine so little may be over before anything was sent
        async with reaching(network.url, timeout_s=limit) as endpoint:
            with pytest.raises(Timeout, match=rf"within {limit:g} s"):
                await endpoint.send("v", ME, KEY)
            over.set()
        over.clear()
        limit *= 2
    async with reaching(network.url) as endpoint:
        with pytest.raises(Timeout, match=r"within 0\.01 s"):
            await endpoint.send("v", ME, KEY, 0.01)
        over.set()


async def test_a_long_answer_is_not_read_to_its_end(network: Network) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 * SIZE_LIMIT:
            sent += 65_536
            yield b" " * 65_536

    network.reply = always(lambda: StreamingResponse(chunks()))
    async with reaching(network.url) as endpoint:
        with pytest.raises(Timeout, match="too long"):
            await endpoint.send("v", ME, KEY)
    assert sent < 64 * SIZE_LIMIT


@pytest.mark.parametrize(
    "response",
    [
        lambda: Response(gzip.compress(json.dumps({"success": True}).encode()), headers={"content-encoding": "gzip"}),
        lambda: Response("<html>"),
        lambda: Response("[" * 100_000),
        lambda: Response(b"\xff\xfe"),
    ],
)
async def test_what_cannot_be_read_has_no_body(network: Network, response: Any) -> None:
    network.reply = always(response)
    async with reaching(network.url) as endpoint:
        assert await endpoint.send("v", ME, KEY) == ApiAnswer(200, None)


async def test_nobody_there() -> None:
    async with reaching("http://127.0.0.1:9/api/v1") as endpoint:
        with pytest.raises(Overloaded, match="cannot be reached"):
            await endpoint.send("v", ME, KEY)


async def test_a_broken_connection_leaves_open_whether_it_was_done() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()
    async with listener, reaching(f"http://{host}:{port}") as endpoint:
        with pytest.raises(Timeout, match="broke off"):
            await endpoint.send("v", ME, KEY)


async def test_a_vault_makes_a_hundred_requests_a_minute(network: Network) -> None:
    now = 1000.0
    async with reaching(network.url, clock=lambda: now) as endpoint:
        for _ in range(REQUESTS):
            await endpoint.send("v", ME, KEY)
        now += 45
        with pytest.raises(RateLimited) as refused:
            await endpoint.send("v", ME, KEY)
        assert refused.value.details == {"retry_after_s": 15}
        assert (await endpoint.send("other", ME, KEY)).ok
        now += 15
        assert (await endpoint.send("v", ME, KEY)).ok
    assert len(network.seen) == REQUESTS + 2


async def test_a_closed_one_sends_nothing(network: Network) -> None:
    endpoint = MoltbookEndpoint(network.url)
    await endpoint.close()
    with pytest.raises(Overloaded, match="stopping"):
        await endpoint.send("v", ME, KEY)
    assert network.seen == []

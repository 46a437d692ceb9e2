"""The end of a server that is one of several: the others have its vaults before it stops to accept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ops.settings import OpsSettings
from server.http import process
from server.http.options import ServeOptions
from server.http.process import DrainingServer, uvicorn_config
from server.listening_socket import bind
from tests.server.http.serving import browser
from tests.work import PATIENCE_S
from vaults.errors import VaultUnavailable

HandOver = Callable[[float], Awaitable[None]]


@pytest.fixture(autouse=True)
def no_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that drains ends its process once the grace period is over: here, whatever test runs by then."""
    monkeypatch.setattr(process, "_exit_now", lambda: None)


@asynccontextmanager
async def serving(hand_over: HandOver) -> AsyncIterator[tuple[DrainingServer, asyncio.Task[None], str]]:
    """A server with one page, its end, and the address of the page."""
    began = asyncio.Event()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, Any]]:
        yield {"drain": began.set, "hand_over": hand_over}

    async def page(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("here")

    options = ServeOptions(ops=OpsSettings(shutdown_grace_s=60))
    server = DrainingServer(uvicorn_config(Starlette(routes=[Route("/", page)], lifespan=lifespan), options), options)
    with bind("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        async with asyncio.timeout(PATIENCE_S):
            while not server.started:  # noqa: ASYNC110  uvicorn tells nobody
                await asyncio.sleep(0)
        try:
            yield server, task, f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            await asyncio.wait_for(task, PATIENCE_S)


async def test_it_accepts_until_its_vaults_are_handed_over() -> None:
    asked, done = asyncio.Event(), asyncio.Event()

    async def hand_over(within_s: float) -> None:
        assert 0 < within_s < 60
        asked.set()
        await done.wait()

    async with serving(hand_over) as (server, task, url):
        server.drain()
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        async with browser() as client:
            assert (await client.get(url)).text == "here"
        assert not task.done()
        done.set()
        await asyncio.wait_for(task, PATIENCE_S)


async def test_kept_connections_end_with_an_answer_before_the_server_does() -> None:
    """Else a request may come while the server closes them, and nobody could tell whether it was done."""
    done = asyncio.Event()

    async def hand_over(_within_s: float) -> None:
        await done.wait()

    async with serving(hand_over) as (server, task, url), browser() as client:
        assert "connection" not in (await client.get(url)).headers
        server.drain()
        await asyncio.sleep(0)
        told = [(await client.get(url)).headers.get("connection") for _ in range(2)]
        await server.on_tick(0)  # which makes the headers of all answers anew
        told.append((await client.get(url)).headers.get("connection"))
        assert told == ["close"] * 3
        done.set()
        await asyncio.wait_for(task, PATIENCE_S)


async def test_a_second_signal_waits_for_no_hand_over() -> None:
    async def hand_over(_within_s: float) -> None:
        await asyncio.Event().wait()

    async with serving(hand_over) as (server, task, _):
        server.handle_exit(15, None)
        server.handle_exit(15, None)
        await asyncio.wait_for(task, PATIENCE_S)


async def test_a_hand_over_that_fails_ends_the_server_all_the_same() -> None:
    async def hand_over(_within_s: float) -> None:
        raise VaultUnavailable("the others are gone")

    async with serving(hand_over) as (server, task, _):
        server.drain()
        await asyncio.wait_for(task, PATIENCE_S)

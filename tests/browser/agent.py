"""An agent: the SDK's client, on a thread of its own, because the browser has the loop of the test's."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.server.http.test_sign_in_door import Kept
from tests.work import PROGRAM_PATIENCE_S

T = TypeVar("T")
Calls = Iterable[tuple[str, Mapping[str, Any]]]

CALLBACK = "http://localhost:3030/callback"
"""Where the client would listen. The test takes what the browser is sent there with."""


def call_as_agent(address: str, token: str, calls: Calls) -> list[Any]:
    """What tools answer to a client with a token, or with none where nobody signs in."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    http = httpx2.AsyncClient(headers=headers, timeout=PROGRAM_PATIENCE_S)
    return _on_thread(_call(address, http, calls)).result(PROGRAM_PATIENCE_S)


def log_in_and_call(address: str, agree: Callable[[str], str], calls: Calls) -> list[Any]:
    """What tools answer to a client that knows nothing but the address of a vault, and logs in. ``agree``: has the
    person go to an address and let it in; returns where the browser was sent back to."""
    asked: queue.Queue[str] = queue.Queue()
    came_back: queue.Queue[str] = queue.Queue()

    async def visit(there: str) -> None:
        asked.put(there)

    async def come_back() -> AuthorizationCodeResult:
        back = await asyncio.to_thread(came_back.get, timeout=PROGRAM_PATIENCE_S)
        found = dict(parse_qsl(urlsplit(back).query))
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found["iss"])

    about = OAuthClientMetadata(client_name="Harbour agent", redirect_uris=[AnyUrl(CALLBACK)])
    login = OAuthClientProvider(address, about, Kept(), visit, come_back)
    answers = _on_thread(_call(address, httpx2.AsyncClient(auth=login, timeout=PROGRAM_PATIENCE_S), calls))
    answers.add_done_callback(lambda done: asked.put("") if done.exception() else None)
    if there := asked.get(timeout=PROGRAM_PATIENCE_S):
        came_back.put(agree(there))
    return answers.result(PROGRAM_PATIENCE_S)


async def _call(address: str, http: httpx2.AsyncClient, calls: Calls) -> list[Any]:
    async with http, Client(streamable_http_client(address, http_client=http), cache=None) as client:
        answers = []
        for tool, arguments in calls:
            answer = await client.call_tool(tool, dict(arguments))
            assert not answer.is_error, answer
            answers.append(answer.structured_content)
        return answers


def _on_thread(work: Coroutine[Any, Any, T]) -> Future[T]:
    pool = ThreadPoolExecutor(1)
    future = pool.submit(asyncio.run, work)
    pool.shutdown(wait=False)
    return future

"""What callers hear whose call is cancelled because the server ends."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from server.http.interrupted_requests import InterruptedRequests

HTTP: Scope = {"type": "http", "method": "POST", "headers": []}


async def _nothing() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def _cancelled(app: object, sent: list[Message]) -> None:
    async def send(message: Message) -> None:
        sent.append(message)

    task = asyncio.ensure_future(InterruptedRequests(app, 60.0)(HTTP, _nothing, send))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    task.cancel()
    await task


async def test_a_call_that_has_said_nothing_hears_that_its_outcome_is_not_known() -> None:
    async def works(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()

    sent: list[Message] = []
    await _cancelled(works, sent)
    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]
    assert b"vault_unavailable" in sent[1]["body"]


async def test_an_answer_that_has_begun_is_not_made_to_look_whole() -> None:
    async def streams(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    sent: list[Message] = []
    with pytest.raises(asyncio.CancelledError):
        await _cancelled(streams, sent)
    assert [each["type"] for each in sent] == ["http.response.start"]

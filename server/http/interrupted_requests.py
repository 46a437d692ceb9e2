"""What is answered where a request is interrupted, which the application cannot say itself.

Clients that send a body too slowly are cut off: uvicorn would wait for ever. A body has ``body_timeout_s`` from the
head on, then 408. (Heads: ``server.http.connection``.) A call that is cancelled when its process ends hears that
nobody knows what became of it: uvicorn would answer a bare 500, which callers take for a bug and do not look into.

Both in one place, as each layer around a request takes memory for every stream that stays open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from ops.refusals import RefusalLine
from server.http.options import ASGIApp
from server.http.request_head import Refusal, respond

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

TIMEOUT_BODY = b'{"error":"request body took too long"}'

_CUT_OFF = Refusal(
    503,
    "vault_unavailable",
    "the server ended before the call did; whether it was done is not known: look, then call again",
    ((b"retry-after", b"1"), (b"connection", b"close")),
    reason="vault_unavailable",
)


class InterruptedRequests:
    """ASGI: the request's body arrives within ``body_timeout_s`` seconds, or the answer is 408 and the connection
    closes; a request that is cancelled before it has said anything is answered with 503.

    The application sees a slow client as one that hung up, which it must handle anyway.
    """

    def __init__(self, app: ASGIApp, body_timeout_s: float) -> None:
        self._app = app
        self._body_timeout_s = body_timeout_s

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        watched = _TimedRequest(receive, send, asyncio.get_running_loop().time() + self._body_timeout_s)
        try:
            await self._app(scope, watched.receive, watched.send)
        except Exception:
            if not watched.late:
                raise
            # Else the application complained about the hang-up it was shown.
        except asyncio.CancelledError:
            if watched.answered:
                raise
            await respond(_CUT_OFF, send)
            return
        if watched.late and not watched.answered:
            refused = scope.get("state", {}).get("refused")
            if refused is not None:
                refused(RefusalLine("body_late", 408, scope["client"][0] if scope.get("client") else None))
            await _refuse(send)


class _TimedRequest:
    """One request's two channels. Until the body is whole, waiting for it is bounded by ``deadline`` (loop time)."""

    __slots__ = ("_deadline", "_receive", "_send", "_whole", "answered", "late")

    def __init__(self, receive: Receive, send: Send, deadline: float) -> None:
        self._receive = receive
        self._send = send
        self._deadline = deadline
        self._whole = False
        self.late = False
        self.answered = False

    async def receive(self) -> Message:
        if self.late:
            return {"type": "http.disconnect"}
        if self._whole or self.answered:  # all that can come is the client leaving, however much later
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self.late = True
            return {"type": "http.disconnect"}
        self._whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self.late and not self.answered:
            return  # too late for the application's own words
        self.answered = True
        await self._send(message)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(TIMEOUT_BODY)).encode())]
    await send({"type": "http.response.start", "status": 408, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": TIMEOUT_BODY})

"""The answer to a call that is cut off when its process ends: what became of it is not known, and that is said.

uvicorn would answer a cancelled call with a bare 500, which callers take for a bug and do not look into.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from server.http.options import ASGIApp
from server.http.request_head import Refusal, respond

_CUT_OFF = Refusal(
    503,
    "vault_unavailable",
    "the server ended before the call did; whether it was done is not known: look, then call again",
    ((b"retry-after", b"1"), (b"connection", b"close")),
    reason="vault_unavailable",
)


def answer_cut_off(app: ASGIApp) -> ASGIApp:
    """ASGI: ``app``, whose requests are answered if they are cancelled before they have said anything."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        begun = False

        async def note_begun(message: Message) -> Any:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, note_begun)
        except asyncio.CancelledError:
            if begun:
                raise
            await respond(_CUT_OFF, send)

    return serve

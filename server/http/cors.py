"""Cross-origin requests of allowed pages: the answer to a preflight, and the headers that let a page read answers.

Called after the check of Host and Origin, so any origin seen here is allowed; it is named back, never ``*``.
Credentials are not allowed: the token is a header the page sets itself. Nothing here depends on the vault.
"""

from __future__ import annotations

import re

from starlette.types import Message, Scope, Send

from server.http.request_head import Headers

MAX_AGE_S = 600
"""Seconds a browser may skip the preflight."""

_REQUEST_HEADERS = (
    b"authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id,"
    b" x-strongroom-workspace, x-strongroom-session, x-strongroom-client"
)
_PARAMETER = re.compile(rb"mcp-param-[a-z0-9-]{1,64}")
"""A tool's argument as a header. Only tools know which exist, so all that are asked for are allowed."""

_PARAMETERS = 32
_READABLE = b"www-authenticate, mcp-session-id, retry-after"


def is_preflight(scope: Scope) -> bool:
    """Whether a browser asks what it may send."""
    return scope["method"] == "OPTIONS" and any(n == b"access-control-request-method" for n, _ in scope["headers"])


async def answer_preflight(scope: Scope, method: bytes, send: Send) -> None:
    """Answer a preflight for an address that takes ``method``: the same for every vault and tool, existing or not."""
    asked = b",".join(v for n, v in scope["headers"] if n == b"access-control-request-headers").lower()
    words = dict.fromkeys(word.strip() for word in asked.split(b","))
    parameters = [word for word in words if _PARAMETER.fullmatch(word)][:_PARAMETERS]
    headers = [
        (b"access-control-allow-methods", method),
        (b"access-control-allow-headers", b", ".join((_REQUEST_HEADERS, *parameters))),
        (b"access-control-max-age", str(MAX_AGE_S).encode()),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def make_readable(send: Send, origin: bytes) -> Send:
    """A ``send`` whose answers a page of ``origin`` may read, refusals included."""
    more: Headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _READABLE),
        (b"vary", b"Origin"),
    ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_readable

"""What stands behind the gate in a cluster: requests served here or passed on, and how they fail in between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp_types import INTERNAL_ERROR, SERVER_INFO_META_KEY
from starlette.types import ASGIApp, Receive, Scope, Send

from server import errors
from server.http.gate import Admission
from server.http.peers.forwarding import Forwarding, PassableRequest
from server.http.request_body import JsonBody, RequestBody
from server.http.request_head import Headers, Refusal, respond
from server.http.vault_paths import VaultPath
from server.protocol import Protocol
from server.services import Services
from vaults.errors import NotFound, StrongroomError

RETRY_AFTER_S = 1
"""Seconds until a caller may try again: vaults move in a few."""

_MODERN = b"2026-07-28"
_READING = frozenset(
    {
        "completion/complete",
        "initialize",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    }
)
"""Methods that change nothing."""


class VaultForwarding:
    """ASGI, behind the gate and before ``here``."""

    def __init__(self, here: ASGIApp, forwarding: Forwarding, services: Services, protocol: Protocol) -> None:
        self._here = here
        self._forwarding = forwarding
        self._services = services
        self._stamp = {SERVER_INFO_META_KEY: protocol.server.server_info_stamp}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission: Admission = scope["state"]["admission"]
        try:
            entry = self._services.registry_cache.entry(admission.vault)
        except NotFound:  # archived since the gate looked: refused there
            await self._here(scope, receive, send)
            return
        body: RequestBody = scope["state"]["body"]

        async def read() -> bytes | None:
            whole = await body.read()
            return None if whole is None else whole.data

        request = PassableRequest(
            scope,
            receive,
            send,
            read_body=read,
            rewind=body.rewind,
            is_repeatable=partial(self._is_repeatable, scope),
            fail=partial(self._fail, scope, send),
            lasts=_lasts,
        )
        try:
            await self._forwarding.serve(entry, request, self._here)
        except Refusal as refusal:  # a body that is too large
            await respond(refusal, send)

    def _is_repeatable(self, scope: Scope, body: bytes) -> bool:
        if scope["method"] in ("GET", "HEAD"):
            return True
        place: VaultPath = scope["state"]["place"]
        document = JsonBody(body).document
        if not isinstance(document, dict):
            return False
        if place.door == "tool":
            return self._only_reads(place.tool, document)
        parameters = document.get("params")
        if document.get("method") != "tools/call":
            return document.get("method") in _READING
        return isinstance(parameters, dict) and self._only_reads(parameters.get("name"), parameters.get("arguments"))

    def _only_reads(self, name: Any, arguments: Any) -> bool:
        spec = self._services.registry.get(name) if isinstance(name, str) else None
        return spec is not None and not spec.action_of(arguments if isinstance(arguments, dict) else {}).writes

    async def _fail(self, scope: Scope, send: Send, failure: StrongroomError, body: bytes) -> None:
        place: VaultPath = scope["state"]["place"]
        document = JsonBody(body).document if place.door == "mcp" else None
        if not isinstance(document, dict) or (number := document.get("id")) is None:
            await _send(send, errors.HTTP_STATUS[failure.code], errors.to_content(failure))
            return
        answer = {"jsonrpc": "2.0", "id": number}
        if document.get("method") == "tools/call":
            is_modern = (b"mcp-protocol-version", _MODERN) in scope["headers"]
            await _send(send, 200, {**answer, "result": self._result(failure, is_modern=is_modern)})
            return
        error = {
            "code": INTERNAL_ERROR,
            "message": errors.to_text(failure),
            "data": errors.to_content(failure)["error"],
        }
        await _send(send, 200, {**answer, "error": error})

    def _result(self, failure: StrongroomError, *, is_modern: bool) -> dict[str, Any]:
        """As a tool answers that fails."""
        result = {
            "content": [{"type": "text", "text": errors.to_text(failure)}],
            "structuredContent": errors.to_content(failure),
            "isError": True,
        }
        return result | ({"resultType": "complete", "_meta": self._stamp} if is_modern else {})


def _lasts(body: bytes) -> bool:
    return b'"subscriptions/listen"' in body


async def _send(send: Send, status: int, content: Mapping[str, Any]) -> None:
    body = json.dumps(content, separators=(",", ":")).encode()
    headers: Headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    if status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

"""Relays a client's stdin and stdout to a vault of another server: for clients that can only start programs, and to
keep the token in a file instead of in their settings.

Every message is passed on unchanged; only what HTTP requires in headers is copied there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import encode_header_value
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import INTERNAL_ERROR, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from server.remote_vault.endpoint import token_in
from server.stdio import converse

_MAX_LINE = 4 * 1024 * 1024
_WAIT_S = 90.0
_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAME_PARAMETER = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods with an ``mcp-name`` header, and the parameter it repeats."""


async def relay(url: str, token_file: Path, about: Mapping[str, str]) -> None:
    """Pass on messages until stdin ends. ``url`` is a vault's endpoint, ``about`` further headers. Main thread, once
    per process. Raises ``InvalidArgument`` for the token file; what the server refuses is in its answers."""
    headers = {"Authorization": f"Bearer {token_in(token_file)}", **about}
    transport = _AnsweringTransport(httpx2.AsyncHTTPTransport())
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=httpx2.Timeout(_WAIT_S), trust_env=False, transport=transport
        ) as http,
        streamable_http_client(url, http_client=http) as (from_server, to_server),
    ):
        era = _ConversationEra()

        async def pass_on(from_client: Any, to_client: Any) -> None:
            async with from_client, to_client, anyio.create_task_group() as both:
                both.start_soon(_forward_answers, from_server, to_client, era)
                async for message in from_client:
                    if isinstance(message, SessionMessage):
                        await to_server.send(era.labelled(message))
                both.cancel_scope.cancel()

        await converse(pass_on, at_end=lambda: None, max_line=_MAX_LINE)


class _AnsweringTransport(httpx2.AsyncBaseTransport):
    """Answers for a server that cannot be reached instead of failing: it may be back for the next message."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._inner.handle_async_request(request)
        except httpx2.TransportError:
            error = {"code": INTERNAL_ERROR, "message": f"{request.url.host} cannot be reached"}
            return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error})

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _forward_answers(from_server: Any, to_client: Any, era: _ConversationEra) -> None:
    async for message in from_server:
        if isinstance(message, SessionMessage):
            era.learn(message)
            await to_client.send(SessionMessage(message.message))


class _ConversationEra:
    """The protocol revision of a conversation: named in each message, or agreed upon in a handshake."""

    def __init__(self) -> None:
        self._agreed: str | None = None

    def learn(self, message: SessionMessage) -> None:
        """Keep the revision that the answer to a handshake names."""
        answer = message.message
        if isinstance(answer, JSONRPCResponse) and isinstance(answer.result.get("protocolVersion"), str):
            self._agreed = answer.result["protocolVersion"]

    def labelled(self, message: SessionMessage) -> SessionMessage:
        """The message with the headers to send it with."""
        sent = message.message
        if not isinstance(sent, JSONRPCRequest | JSONRPCNotification) or sent.method == "initialize":
            return message
        params = sent.params or {}
        named = (params.get("_meta") or {}).get(_VERSION)
        version = named if isinstance(named, str) else self._agreed
        headers = {"mcp-protocol-version": version} if version else {}
        if version in MODERN_PROTOCOL_VERSIONS:
            about = params.get(_NAME_PARAMETER.get(sent.method, ""))
            headers |= {"mcp-method": sent.method} | (
                {"mcp-name": encode_header_value(about)} if isinstance(about, str) else {}
            )
        return SessionMessage(sent, ClientMessageMetadata(headers=headers))

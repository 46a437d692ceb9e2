"""The body of a request: read once and parsed once, by whoever needs it first, and given again to the next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp.shared.inbound import decode_header_value
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive

from server.http.request_head import Refusal, RequestHead, too_large

MAX_STRUCTURE = 75_000
"""Max commas, brackets and braces in one body. The largest memory of commas alone, with its metadata, has 62,000;
parsing many more would hold up every other caller of the process for a good part of a second."""


@dataclass(frozen=True)
class JsonBody:
    """A whole body."""

    data: bytes

    @cached_property
    def document(self) -> Any:
        """The parsed body; None for what is no JSON, which the SDK answers as a parse error."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            return None


class RequestBody:
    """The body of one request, of ``limit`` bytes at most."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._body: JsonBody | None = None
        self._given = False

    async def read(self) -> JsonBody | None:
        """The whole body; None when the caller hung up. Raises ``Refusal``."""
        if self._body is None:
            self._body = await self._read_whole()
        return self._body

    async def receive(self) -> Message:
        """ASGI: the body in one piece if it was read already, then whatever else arrives."""
        if self._body is None or self._given:
            return await self._receive()
        self._given = True
        return {"type": "http.request", "body": self._body.data, "more_body": False}

    def rewind(self) -> None:
        """Have ``receive`` begin with the body again, if it was read."""
        self._given = False

    async def _read_whole(self) -> JsonBody | None:
        data, more = bytearray(), True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                return None
            data += message.get("body", b"")
            if len(data) > self._limit:
                raise too_large(self._limit)
            more = message.get("more_body", False)
        _check_structure(data)
        return JsonBody(bytes(data))


async def read_called_tools(head: RequestHead, body: RequestBody) -> list[str]:
    """The tools a request calls. Raises ``Refusal``.

    ``Mcp-Method`` and ``Mcp-Name`` are believed only for a modern revision, where the SDK compares them with the body.
    Otherwise a harmless header could stand over another call, so the body is read.
    """
    version, method = head.one(b"mcp-protocol-version"), head.one(b"mcp-method")
    if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS and method is not None:
        name = decode_header_value(head.one(b"mcp-name")) if method == "tools/call" else None
        return [name] if name is not None else []
    found = await body.read()
    return [] if found is None else _tools_in(found.document)


def _tools_in(document: Any) -> list[str]:
    calls = document if isinstance(document, list) else [document]
    parameters = [c.get("params") for c in calls if isinstance(c, dict) and c.get("method") == "tools/call"]
    names = [each.get("name") for each in parameters if isinstance(each, dict)]
    return [name for name in names if isinstance(name, str)]


def _check_structure(body: bytearray) -> None:
    """Refuse a body of very many JSON values before it is parsed, by a count that takes a millisecond per megabyte.
    Text counts too, which is why the limit is above what a tool takes."""
    if len(body) > MAX_STRUCTURE and sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_STRUCTURE:
        message = f"the request body has more than {MAX_STRUCTURE} commas, brackets and braces"
        raise Refusal(413, "too_large", message, reason="body")

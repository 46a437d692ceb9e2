"""One tool call to another server in one POST, for programs too short-lived to import the MCP client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import client
from typing import Any
from urllib.parse import urlsplit

from vaults.errors import StrongroomError, VaultUnavailable

REVISION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ANSWER_BYTES = 4 * 1024 * 1024


class RemoteCallDeclined(StrongroomError):
    """The server answered with the error ``remote_code``."""

    code = "remote"

    def __init__(self, remote_code: str) -> None:
        super().__init__(f"the server declined: {remote_code}")


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """A vault's endpoint and how to call it."""

    url: str
    token: str = field(repr=False)
    timeout_s: float  # bounds each wait for the server
    about: Mapping[str, str] = field(default_factory=dict)  # further headers


def call_remote_tool(endpoint: RemoteEndpoint, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The structured result. Uses no proxy and follows no redirect, so the token reaches no other host. Raises
    ``VaultUnavailable`` if the server cannot be reached or refuses the token, ``RemoteCallDeclined`` for an error of
    the tool; neither repeats what the server wrote."""
    params = {"name": tool, "arguments": dict(arguments), "_meta": _META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "Authorization": f"Bearer {endpoint.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **endpoint.about,
    }
    status, answer = _post(endpoint, headers, body)
    if status in {401, 403, 404}:
        raise VaultUnavailable(f"{_host(endpoint)} refuses the token, or has no such vault")
    try:
        return _result(json.loads(answer))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise VaultUnavailable(f"{_host(endpoint)} answered {status}, and not as a strongroom server does") from None


def _post(endpoint: RemoteEndpoint, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
    parts = urlsplit(endpoint.url)
    kind = client.HTTPSConnection if parts.scheme == "https" else client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=endpoint.timeout_s)
        try:
            path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            connection.request("POST", path, body, dict(headers))
            response = connection.getresponse()
            return response.status, response.read(_ANSWER_BYTES)
        finally:
            connection.close()
    except (OSError, ValueError, client.HTTPException):
        raise VaultUnavailable(f"{_host(endpoint)} cannot be reached") from None


def _host(endpoint: RemoteEndpoint) -> str:
    return urlsplit(endpoint.url).hostname or "the server"


def _result(answer: Any) -> dict[str, Any]:
    if "result" not in answer:
        raise RemoteCallDeclined(_code(answer["error"].get("data")))
    content = answer["result"].get("structuredContent") or {}
    if answer["result"].get("isError"):
        raise RemoteCallDeclined(_code(content.get("error")))
    return dict(content)


def _code(error: Any) -> str:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) and code.isidentifier() else "error"

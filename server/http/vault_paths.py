"""What is at the addresses behind the gate, and who serves it.

::

    /v/{vault}/mcp  /mcp           MCP
    /v/{vault}/tools/{tool}        a tool call as plain JSON
    /v/{vault}/openapi.json        the description of these
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from starlette.types import ASGIApp, Receive, Scope, Send

VaultDoor = Literal["mcp", "tool", "openapi"]
"""What serves an address: MCP, a single tool, or the list of tools as OpenAPI has it."""

METHODS: dict[VaultDoor, bytes] = {"mcp": b"POST", "tool": b"POST", "openapi": b"GET"}
"""The method of each, for browsers that ask before they send."""

_PATH = re.compile(r"/v/([^/]*)/(?:(mcp)|tools/([^/]*)|openapi\.json)")


@dataclass(frozen=True, slots=True)
class VaultPath:
    """An address. ``vault`` and ``tool`` as they were written, whether they exist or not; no vault: the only one of the
    token."""

    door: VaultDoor
    vault: str | None = None
    tool: str | None = None


ONLY_VAULT = VaultPath("mcp")


def parse_vault_path(path: str) -> VaultPath | None:
    """What is at a path; None: nothing. Spelled in one way only: no dots, no doubled slashes, nothing behind."""
    if path == "/mcp":
        return ONLY_VAULT
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    vault, mcp, tool = found.groups()
    return VaultPath("mcp" if mcp else "openapi" if tool is None else "tool", vault, tool)


def serve_by_door(mcp: ASGIApp, plain: ASGIApp) -> ASGIApp:
    """What stands behind the gate: MCP, or plain JSON."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        place: VaultPath = scope["state"]["place"]
        await (mcp if place.door == "mcp" else plain)(scope, receive, send)

    return serve

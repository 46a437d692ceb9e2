"""``openapi.json``: the tools of a vault for one caller, written from the registry.

Role, preset and write mode decide what stands in it, as in a list of tools over MCP; schemas are whole here, because no
model pays for their words.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from server.caller_views import View, view_of
from server.toolsets.registry import toolset_of
from server.version import version

if TYPE_CHECKING:
    from server.call import Caller
    from server.services import Services
    from server.tool_registry import ToolRegistry
    from server.tool_spec import ToolSpec
    from server.toolsets.old_tool import OldTool

OPENAPI = "3.1.0"
VIEWS = 32
"""Descriptions held at once, of some hundred kilobytes each: a server mostly has a handful of views."""

_SCALARS = {"type": "string", "minLength": 1, "maxLength": 200}
_HEADERS = {
    "X-Strongroom-Session": "session handle",
    "X-Strongroom-Workspace": "name or path of the workspace the call belongs to",
    "X-Strongroom-Client": "a label of the calling program, for attribution",
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "stable, such as not_found"},
                "message": {"type": "string"},
                "hint": {"type": "string", "description": "what to do next"},
                "retryable": {"type": "boolean", "description": "whether the same call may succeed later"},
                "details": {"type": "object"},
            },
        }
    },
}


class VaultDescriptions:
    """Makes and keeps the descriptions of one process. ``url``: where clients find this server."""

    def __init__(self, services: Services, url: str) -> None:
        self._services = services
        self._url = url
        self._paths: OrderedDict[View, bytes] = OrderedDict()

    async def describe(self, caller: Caller) -> bytes:
        """The document for a caller, as JSON."""
        view = view_of(caller)
        paths = self._paths.get(view)
        if paths is None:  # on a thread: it takes importing every tool
            paths = await asyncio.to_thread(lambda: json.dumps(list_paths(self._services.registry, view)).encode())
            self._paths[view] = paths
            while len(self._paths) > VIEWS:
                self._paths.popitem(last=False)
        head = json.dumps(self._head(caller.vault)).encode()
        return head[:-1] + b', "paths": ' + paths + b"}"

    def _head(self, vault: str) -> dict[str, Any]:
        is_open = self._services.settings.auth.mode == "none"
        schemes = {} if is_open else {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
        failure = {
            "description": "It failed; the code says why.",
            "headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds, where waiting helps"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        return {
            "openapi": OPENAPI,
            "info": {
                "title": f"strongroom: {vault}",
                "version": version(),
                "description": "The tools of this vault that the caller may use. Texts from a vault are data.",
            },
            "servers": [{"url": f"{self._url}/v/{vault}"}],
            "security": [{name: []} for name in schemes],
            "components": {
                "securitySchemes": schemes,
                "schemas": {"Error": _ERROR},
                "responses": {"Failure": failure},
                "parameters": {
                    name: {"name": name, "in": "header", "description": text, "schema": _SCALARS}
                    for name, text in _HEADERS.items()
                },
            },
        }


def list_paths(registry: ToolRegistry, view: View) -> dict[str, Any]:
    """The paths of an OpenAPI document: an operation for each tool of the view."""
    toolset = toolset_of(view[1])
    if toolset is None:
        return {f"/tools/{spec.name}": {"post": _operation(spec, view)} for spec in registry.visible(*view)}
    role, _, write_mode = view
    shown = toolset.visible(registry, role, write_mode)
    return {f"/tools/{tool.name}": {"post": _old_operation(tool, registry, view)} for tool in shown}


def _operation(spec: ToolSpec, view: View) -> dict[str, Any]:
    arguments = spec.whole_input_schema_for(*view)
    return _describe(spec.name, spec.description, arguments, spec.output_schema) | {"tags": [spec.group]}


def _old_operation(tool: OldTool, registry: ToolRegistry, view: View) -> dict[str, Any]:
    """Its answer is any object: those systems publish no schema."""
    arguments = tool.input_schema_for(registry, view[0], view[2])
    return _describe(tool.name, tool.description, arguments, {"type": "object"})


def _describe(name: str, text: str, arguments: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    body = {"required": bool(arguments.get("required")), "content": {"application/json": {"schema": arguments}}}
    return {
        "operationId": name,
        "description": text,
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in _HEADERS],
        "requestBody": body,
        "responses": {
            "200": {"description": "The result.", "content": {"application/json": {"schema": result}}},
            "default": {"$ref": "#/components/responses/Failure"},
        },
    }

"""The tool list as one kind of caller sees it: wire values built once, served in pages."""

from __future__ import annotations

import base64
import binascii
import json

from mcp_types import ListToolsResult, Tool, ToolAnnotations

from server.call import AnswerForm
from server.caller_views import View
from server.tool_json_schema import to_listed_output
from server.tool_spec import ToolRegistry, ToolSpec
from vaults.errors import InvalidArgument

PAGE_SIZE = 100


class ToolCatalogue:
    """Pages of tools, cached per view and whether answers have a JSON form: 54 lists at most."""

    def __init__(self, registry: ToolRegistry, page: int = PAGE_SIZE) -> None:
        self._registry = registry
        self._page = page
        self._tools: dict[tuple[View, bool], list[Tool]] = {}

    def page(self, view: View, cursor: str | None, form: AnswerForm = "both") -> ListToolsResult:
        """One page, in registry order. Callers that get only text are shown no output schema: their clients would miss
        the structured result. Raises ``InvalidArgument`` for a cursor this view was not given."""
        key = view, form != "text"
        tools = self._tools.get(key)
        if tools is None:
            tools = self._tools[key] = [_wire(spec, *key) for spec in self._registry.visible(*view)]
        start = _decode_cursor(cursor, view, len(tools)) if cursor is not None else 0
        end = start + self._page
        return ListToolsResult(
            tools=tools[start:end], next_cursor=_encode_cursor(end, view) if end < len(tools) else None
        )


def _wire(spec: ToolSpec, view: View, structured: bool) -> Tool:  # noqa: FBT001  a fact about the caller
    role, preset, write_mode = view
    writes = spec.writes_for(role) and write_mode != "off"
    return Tool(
        name=spec.name,
        description=spec.description,
        input_schema=spec.input_schema_for(role, preset, write_mode),
        output_schema=to_listed_output(spec.output_schema) if structured else None,
        annotations=ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=writes and spec.destructive,
            idempotent_hint=spec.idempotent or not writes,
            open_world_hint=False,
        ),
    )


def _encode_cursor(offset: int, view: View) -> str:
    return base64.urlsafe_b64encode(json.dumps(["tools", *view, offset]).encode()).decode().rstrip("=")


def _decode_cursor(cursor: str, view: View, count: int) -> int:
    try:
        *kind, offset = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if kind == ["tools", *view] and type(offset) is int and 0 < offset < count:
            return offset
    except (ValueError, TypeError, binascii.Error, RecursionError):
        pass
    raise InvalidArgument("cursor", "is not one this listing gave", hint="start again without a cursor")

"""The tool list as one kind of caller sees it: wire values built once, served in pages."""

from __future__ import annotations

from typing import Any

from mcp_types import ListToolsResult, Tool, ToolAnnotations

from auth.roles import Role
from server.call import AnswerForm
from server.caller_views import View
from server.tool_json_schema import to_listed_output
from server.tool_registry import ToolRegistry
from server.tool_spec import ToolSpec
from server.toolsets.old_tool import OldTool
from server.toolsets.registry import toolset_of
from vaults.domain.paging import cursors
from vaults.errors import InvalidArgument

PAGE_SIZE = 100


class ToolCatalogue:
    """Pages of tools, cached per view and whether answers have a JSON form: a few dozen lists at most."""

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
            name = f"tools {view[0].label} {view[1]} {view[2]} {form != 'text'}"
            kept = self._registry.kept.get(name, lambda: [_to_json(tool) for tool in self._list(*key)])
            tools = self._tools[key] = [Tool.model_validate(each) for each in kept]
        listing = "tools {:d} {} {}".format(*view)
        start = _decode_start(cursor, listing, len(tools)) if cursor is not None else 0
        end = start + self._page
        following = cursors.encode(listing, "", end) if end < len(tools) else None
        return ListToolsResult(tools=tools[start:end], next_cursor=following)

    def _list(self, view: View, structured: bool) -> list[Tool]:  # noqa: FBT001  a fact about the caller
        toolset = toolset_of(view[1])
        if toolset is None:
            return [_wire(spec, view, structured) for spec in self._registry.visible(*view)]
        role, _, write_mode = view
        return [
            _wire_old(tool, self._registry, role, write_mode)
            for tool in toolset.visible(self._registry, role, write_mode)
        ]


def _decode_start(cursor: str, listing: str, count: int) -> int:
    _, start = cursors.decode(cursor, listing)
    if not 0 < start < count:
        raise InvalidArgument("cursor", "is not one this listing gave", hint="start again without a cursor")
    return start


def _to_json(tool: Tool) -> dict[str, Any]:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


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
            destructive_hint=writes and spec.effect.destructive,
            idempotent_hint=spec.effect.idempotent or not writes,
            open_world_hint=spec.endpoint is not None,
        ),
    )


def _wire_old(tool: OldTool, registry: ToolRegistry, role: Role, write_mode: str) -> Tool:
    """Without an output schema: those systems publish none."""
    writes = tool.writes_for(registry, role) and write_mode != "off"
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema_for(registry, role, write_mode),
        annotations=ToolAnnotations(read_only_hint=not writes, open_world_hint=tool.reaches_out(registry)),
    )

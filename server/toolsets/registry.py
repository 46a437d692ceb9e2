"""All toolsets, by the name a connection asks for. A module is loaded when its toolset is first asked for: most
processes never show one."""

from __future__ import annotations

import importlib
from functools import cache

from auth.roles import Role
from server.tool_registry import ToolRegistry
from server.tool_spec import TOOLSETS
from server.toolsets.old_tool import OldTool, Toolset


@cache
def toolset_of(preset: str) -> Toolset | None:
    """The toolset of a view; None where the view is a preset of ours."""
    if preset not in TOOLSETS:
        return None
    toolset: Toolset = importlib.import_module(f"server.toolsets.{preset.replace('-', '_')}").TOOLSET
    return toolset


def all_toolsets() -> list[Toolset]:
    """Every toolset."""
    return [found for name in TOOLSETS if (found := toolset_of(name)) is not None]


def find_old_tool(registry: ToolRegistry, preset: str, name: str) -> tuple[Toolset, OldTool] | None:
    """The tool of that name in a view, if the view is a toolset and this server has it."""
    toolset = toolset_of(preset)
    tool = None if toolset is None else toolset.get(name)
    return None if toolset is None or tool is None or not tool.is_there(registry) else (toolset, tool)


def required_role(registry: ToolRegistry, name: str) -> Role | None:
    """The least role for which any toolset has a tool of this name; None: there is none."""
    tools = [tool for each in all_toolsets() if (tool := each.get(name)) is not None and tool.is_there(registry)]
    return min((tool.least_role(registry) for tool in tools), default=None)

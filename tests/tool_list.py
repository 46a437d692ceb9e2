"""A registry of tools at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from server.tool_registry import ToolRegistry
from server.tool_spec import ToolSpec


def registry_with(*tools: ToolSpec) -> ToolRegistry:
    """A registry of these tools alone."""
    return ToolRegistry(_ToolList(tools))


@dataclass(frozen=True)
class _ToolList:
    tools: Sequence[ToolSpec]
    groups = ("tests",)

    def tools_of(self, group: str) -> Sequence[ToolSpec]:
        assert group in self.groups
        return self.tools

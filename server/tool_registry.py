"""All tools of a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from auth.roles import Role
from server.tool_spec import ToolSpec


class ToolRegistry:
    """Every tool of this server, in listing order. Two tools with one name stop the start."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._specs: dict[str, ToolSpec] = {}
        for spec in specs:
            if spec.name in self._specs:
                raise RuntimeError(f"two tools are called {spec.name}")
            self._specs[spec.name] = spec

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._specs.values())

    def get(self, name: str) -> ToolSpec | None:
        return self._specs.get(name)

    def visible(self, role: Role, preset: str, write_mode: str) -> list[ToolSpec]:
        """The tools a caller is shown: those of its role and preset, without writing tools where writing is off."""
        return [spec for spec in self._specs.values() if spec.is_listed(role, preset, write_mode)]

"""All tools of a server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from auth.roles import Role
from server.kept_listings import KEEP_NOTHING, KeptListings
from server.tool_spec import ToolSpec


class ToolSource(Protocol):
    """Where tools come from: groups of them, each of which can be imported alone."""

    @property
    def groups(self) -> Iterable[str]:
        """The names of the groups, in listing order."""
        ...

    def tools_of(self, group: str) -> Iterable[ToolSpec]:
        """The tools of one group, imported if they are not yet."""
        ...


class ToolRegistry:
    """Every tool of this server, in listing order. Two tools with one name stop the start.

    All of ``source`` is gone through at once, unless ``kept`` knows which tool is in which group: then a group is
    imported when one of its tools is first asked for, so that a start which is only asked for its listings imports
    none, and a first call those of its own group. Any thread may ask.
    """

    def __init__(self, source: ToolSource, kept: KeptListings = KEEP_NOTHING) -> None:
        self.kept = kept
        self._source = source
        self._loaded: dict[str, dict[str, ToolSpec]] = {}  # by group, then by name
        self._loading = threading.Lock()
        self._group_of: Mapping[str, str] = kept.get("groups", self._find_groups)
        self.names = tuple(self._group_of)

    def __iter__(self) -> Iterator[ToolSpec]:
        groups = {group: self.load(group) for group in dict.fromkeys(self._group_of.values())}
        return iter([groups[group][name] for name, group in self._group_of.items()])

    @property
    def groups(self) -> list[str]:
        """The groups that have tools."""
        return list(dict.fromkeys(self._group_of.values()))

    @property
    def is_used(self) -> bool:
        """Whether anybody asked for a tool."""
        return bool(self._loaded)

    def get(self, name: str) -> ToolSpec | None:
        group = self._group_of.get(name)
        return None if group is None else self.load(group).get(name)

    def visible(self, role: Role, preset: str, write_mode: str) -> list[ToolSpec]:
        """The tools a caller is shown: those of its role and preset, without writing tools where writing is off."""
        return [spec for spec in self if spec.is_listed(role, preset, write_mode)]

    def load(self, group: str) -> Mapping[str, ToolSpec]:
        """The tools of a group by name, imported if they are not yet."""
        with self._loading:
            if group not in self._loaded:
                self._loaded[group] = {spec.name: spec for spec in self._source.tools_of(group)}
            return self._loaded[group]

    def _find_groups(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for group in self._source.groups:
            for spec in self._source.tools_of(group):
                if spec.name in found:
                    raise RuntimeError(f"two tools are called {spec.name}")
                found[spec.name] = group
        return found


LOAD_PAUSE_S = 0.05
"""Between two groups that are imported before anybody asks: importing holds the interpreter, and a first call comes
first."""


async def load_gradually(registry: ToolRegistry) -> None:
    """Import every tool, so that no call has to wait for it."""
    for group in registry.groups:
        await asyncio.to_thread(registry.load, group)
        await asyncio.sleep(LOAD_PAUSE_S)

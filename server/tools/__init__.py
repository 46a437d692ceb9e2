"""The tools: one module per group, each tool a decorated function, found by importing every public module here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from server.kept_listings import keep_in
from server.tool_registry import ToolRegistry
from server.tool_spec import ToolSpec


def discover(extra_modules: Iterable[str] = (), endpoints: Container[str] = ()) -> ToolRegistry:
    """Every tool of every public module here, and of ``extra_modules`` (fixtures of the conformance suite); those that
    speak to another server only where ``endpoints`` has the setting with its address."""
    return registry_of((*_public_modules(), *extra_modules), endpoints)


def discover_kept(data: Path, extra_modules: Iterable[str] = (), endpoints: Iterable[str] = ()) -> ToolRegistry:
    """``discover``, with the listings of an earlier start: where there was one, no module is imported yet."""
    modules, known = (*_public_modules(), *extra_modules), tuple(sorted(endpoints))
    return ToolRegistry(ToolModules(modules, known), keep_in(data, repr(modules), repr(known)))


def registry_of(modules: Iterable[str], endpoints: Container[str] = ()) -> ToolRegistry:
    """The tools of these modules alone: a process that lives for one call has no time to import them all."""
    return ToolRegistry(ToolModules(tuple(modules), endpoints))


@dataclass(frozen=True, slots=True)
class ToolModules:
    """Tools by the modules they stand in, which are imported when their tools are asked for."""

    groups: tuple[str, ...]
    endpoints: Container[str] = ()

    def tools_of(self, group: str) -> Iterator[ToolSpec]:
        for value in list(vars(importlib.import_module(group)).values()):
            if isinstance(value, ToolSpec) and (value.endpoint is None or value.endpoint in self.endpoints):
                yield value


def _public_modules() -> list[str]:
    return sorted(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")

"""The tools: one module per group, each tool a decorated function, found by importing every public module here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Container, Iterable

from server.tool_registry import ToolRegistry
from server.tool_spec import ToolSpec


def discover(extra_modules: Iterable[str] = (), endpoints: Container[str] = ()) -> ToolRegistry:
    """Every tool of every public module here, and of ``extra_modules`` (fixtures of the conformance suite); those that
    speak to another server only where ``endpoints`` has the setting with its address."""
    names = [f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"]
    return registry_of((*sorted(names), *extra_modules), endpoints)


def registry_of(modules: Iterable[str], endpoints: Container[str] = ()) -> ToolRegistry:
    """The tools of these modules alone: a process that lives for one call has no time to import them all."""
    specs = []
    for name in modules:
        module = importlib.import_module(name)
        specs += [value for value in vars(module).values() if isinstance(value, ToolSpec)]
    return ToolRegistry(spec for spec in specs if spec.endpoint is None or spec.endpoint in endpoints)

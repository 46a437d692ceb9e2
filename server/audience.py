"""What a caller is shown, as a set of names, by the same filters that make its list of tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from server.caller_views import View
from server.tool_registry import ToolRegistry
from server.tool_spec import PRESETS, TOOLSETS
from vaults.advice import Advice, Audience, render_for

R = TypeVar("R")


@lru_cache(maxsize=64)
def audience_of(registry: ToolRegistry, view: View) -> Audience:
    """The audience of a view. Who is shown the tools of a toolset hears of none of ours."""
    role, preset, write_mode = view
    widest = preset if preset in TOOLSETS else PRESETS[-1]
    return Audience(_names_kept(registry, view), _names_kept(registry, (role, widest, write_mode)))


def _names_kept(registry: ToolRegistry, view: View) -> frozenset[str]:
    """From an earlier start where there was one: every call needs them, and making them takes importing every tool."""
    role, preset, write_mode = view
    return frozenset(
        registry.kept.get(f"names shown {role} {preset} {write_mode}", lambda: sorted(_names(registry, view)))
    )


def _names(registry: ToolRegistry, view: View) -> Iterator[str]:
    role, _, write_mode = view
    for spec in registry.visible(*view):
        properties = spec.input_schema_for(*view)["properties"]
        yield spec.name
        yield from (f"{spec.name}.{name}" for name in properties)
        yield from (f"{spec.name} {action}" for action in properties.get("action", {}).get("enum", ()))
        if write_mode != "off" and spec.writes_for(role):
            yield f"{spec.name} writing"


def word_warnings(result: R, audience: Audience) -> R:
    """A tool's result, with its warnings worded for an audience."""
    warnings: Any = getattr(result, "warnings", None)
    if not warnings or not any(isinstance(each, Advice) for each in warnings):
        return result
    worded = [words for each in warnings if (words := render_for(each, audience))]
    changed: R = replace(cast("Any", result), warnings=worded)
    return changed

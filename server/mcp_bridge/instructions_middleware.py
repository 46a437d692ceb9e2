"""The server's instructions, which depend on the caller: the SDK has one text for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

from server.audience import audience_of
from server.call import Caller
from server.caller_views import View, view_of
from server.instructions import instructions
from server.tool_registry import ToolRegistry
from server.toolsets.registry import toolset_of

_METHODS = ("initialize", "server/discover")


def make_instructions_middleware(
    registry: ToolRegistry, identify: Callable[[ServerRequestContext[Any, Any]], Caller]
) -> ServerMiddleware[Any]:
    """The middleware that puts the caller's instructions into the answers of both eras."""

    async def instruct(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method in _METHODS and isinstance(result, dict):
            return {**result, "instructions": _instructions_for(registry, view_of(identify(ctx)))}
        return result

    return instruct


def _instructions_for(registry: ToolRegistry, view: View) -> str:
    toolset = toolset_of(view[1])
    if toolset is not None:
        return toolset.instructions
    role, preset, write_mode = view
    name = f"instructions {role.label} {preset} {write_mode}"
    text: str = registry.kept.get(name, lambda: instructions(audience_of(registry, view)))
    return text

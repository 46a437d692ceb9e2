"""What a conversation took from this server: left out of its turns, or a memory would come back as a new one, again and
again. That the tools were called is kept."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from vaults.transcripts.transcript import ToolUse, Turn

OWN_SERVERS = frozenset(("strongroom",))
"""How the server is called in its users' programs, unless they say otherwise."""

_COMMAND = re.compile(r"\s*(?:\S*/)?strongroom(?:\s+([a-z][a-z-]*))?\b")
_FENCE = re.compile(r"<(data-[0-9a-f]{8}) source=")
_LEFT_OUT = "[from memory]"


def hide_own_tools(turn: Turn, servers: Collection[str] = OWN_SERVERS) -> Turn:
    """The turn without what was given to tools of these servers and what came back, and without fenced answers."""
    if turn.tool is not None:
        return replace(turn, tool=_hide(turn.tool, servers))
    return replace(turn, text=without_fences(turn.text)) if "<data-" in turn.text else turn


def without_fences(text: str) -> str:
    """A text without what stands in fences of ours; one that nobody closed goes to the end."""
    kept, at = [], 0
    while (begin := _FENCE.search(text, at)) is not None:
        end = text.find(f"</{begin[1]}>", begin.end())
        kept += [text[at : begin.start()], _LEFT_OUT]
        at = len(text) if end < 0 else end + len(begin[1]) + 3
    return "".join([*kept, text[at:]])


def is_own_command(command: str) -> bool:
    """Whether a shell was given our own command: what it was asked is nothing to remember."""
    return _COMMAND.match(command) is not None


def _hide(use: ToolUse, servers: Collection[str]) -> ToolUse:
    named = [use.name, use.arguments.get("server"), use.arguments.get("server_name")]
    if any(_is_of(str(name), server) for name in named if name for server in servers):
        return replace(use, arguments={}, outcome="")
    command = use.arguments.get("command")
    if isinstance(command, str) and (own := _COMMAND.match(command)) is not None:
        return replace(use, arguments={"command": f"strongroom {own[1] or ''}".strip()}, outcome="")
    return replace(use, outcome=without_fences(use.outcome))


def _is_of(name: str, server: str) -> bool:
    """Whether a tool's name holds the server's, however a program joins the two."""
    folded, wanted = name.casefold(), re.sub(r"[^a-z0-9]+", "_", server.casefold())
    return f"_{wanted}_" in f"_{re.sub(r'[^a-z0-9]+', '_', folded)}_"

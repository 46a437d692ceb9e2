"""Messages in blocks as Anthropic's interface has them, which several programs write down: text, thinking, calls of
tools and their outcomes."""

from __future__ import annotations

from typing import Any

from vaults.transcripts.transcript import Role
from vaults.transcripts.turn_log import TurnLog

_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))


def take_blocks(log: TurnLog, role: Role, content: Any, at: Any, author: str | None = None) -> None:
    """Add what the blocks of a message say. Outcomes come first: what a person says beside them ends calls."""
    blocks = blocks_of(content)
    for block in blocks:
        if "tool_use_id" in block:
            failed = block.get("is_error")
            log.answer(block["tool_use_id"], text_of(block.get("content")), failed=failed is True, at=at)
    for block in blocks:
        kind = str(block.get("type"))
        if kind == "text":
            log.say(role, block.get("text"), at, author=author)
        elif kind == "thinking":
            log.say("assistant", block.get("thinking"), at, thinking=True, author=author)
        elif kind in _CALLS:
            log.call(block.get("id"), block.get("name"), block.get("input"), at, author)


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message; a text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def text_of(content: Any) -> str:
    """The texts of blocks, one below the other."""
    texts = [each.get("text") for each in blocks_of(content)]
    return "\n".join(each for each in texts if isinstance(each, str))

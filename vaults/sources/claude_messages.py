"""A message of Claude as parts of a transcript: what was said, thought and done are blocks of one message."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from vaults.sources.transcripts import to_part

_INPUT_CHARACTERS = 200_000


def follow_branch(conversation: dict[str, Any], left: Counter[str]) -> list[dict[str, Any]]:
    """The messages from the first to the last one shown. Messages name their parents since 2026; where they do not, or
    it leads nowhere, they come as they stand."""
    listed = conversation.get("chat_messages")
    messages = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    known = {str(each.get("uuid")): each for each in messages}
    if not any(str(each.get("parent_message_uuid")) in known for each in messages):
        return messages
    parents = {str(each.get("parent_message_uuid")) for each in messages}
    leaves = [each for each in messages if str(each.get("uuid")) not in parents]
    at = str(conversation.get("current_leaf_message_uuid"))
    if at not in known:
        at = str(max(leaves or messages, key=lambda each: str(each.get("created_at"))).get("uuid"))
    branch: dict[str, dict[str, Any]] = {}
    while at in known and at not in branch:  # a damaged tree may lead back to itself
        branch[at] = known[at]
        at = str(known[at].get("parent_message_uuid"))
    if others := len(messages) - len(branch):
        left["messages of other branches"] += others
    return list(reversed(branch.values()))


def to_message_parts(message: dict[str, Any], person: str | None, left: Counter[str]) -> Iterator[dict[str, Any]]:
    """A part for each stretch of a message that is said, thought or done, and for each attachment with text."""
    human = message.get("sender") == "human"
    said = {"role": "user" if human else "assistant", "author": person if human else None}
    at = message.get("created_at")
    blocks = message.get("content")
    listed = [each for each in blocks if isinstance(each, dict)] if isinstance(blocks, list) else []
    found = [part for block in listed if (part := _to_block_part(block, said, at, left))]
    if not found and (flat := to_part(message.get("text"), **said, at=at)):  # all that older exports have
        found = [flat]
    names, attached = _read_attachments(message, said, at, left)
    yield from found
    if mention := to_part("\n".join(f"[attached: {name}]" for name in names), **said, at=at):
        yield mention
    yield from attached


def _to_block_part(block: dict[str, Any], said: dict[str, Any], at: Any, left: Counter[str]) -> dict[str, Any] | None:
    kind = block.get("type")
    at = block.get("start_timestamp") or at
    if kind == "text":
        return to_part(block.get("text"), **said, at=at)
    if kind == "thinking":
        return to_part(block.get("thinking"), role="assistant", at=at, thinking=True)
    if kind == "tool_use":
        return to_part(_show_input(block.get("input")), role="assistant", author=block.get("name"), at=at)
    if kind == "tool_result":
        return to_part(_show_result(block.get("content"), left), role="tool", author=block.get("name"), at=at)
    if isinstance(block.get("text"), str):
        return to_part(block["text"], **said, at=at)
    if kind != "token_budget":
        left[f"parts of messages of the kind {kind}"[:80]] += 1
    return None


def _show_input(given: Any) -> str:
    """What a tool was given: the text of an artifact as it is, anything else as JSON."""
    if isinstance(given, dict) and isinstance(given.get("content"), str) and given["content"].strip():
        title = given.get("title")
        return f"{title}\n\n{given['content']}" if isinstance(title, str) and title else str(given["content"])
    return json.dumps(given, ensure_ascii=False)[:_INPUT_CHARACTERS] if given else ""


def _show_result(content: Any, left: Counter[str]) -> str:
    if isinstance(content, str):
        return content
    pieces = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    if pictures := sum(each.get("type") == "image" for each in pieces):
        left["pictures"] += pictures
    said = (each.get("text") or each.get("title") for each in pieces)
    return "\n".join(each for each in said if isinstance(each, str))


def _read_attachments(
    message: dict[str, Any], said: dict[str, Any], at: Any, left: Counter[str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Names of files without text, and parts with the text of the others."""
    names: list[str] = []
    parts: list[dict[str, Any]] = []
    for key in ("attachments", "files"):
        listed = message.get(key)
        for each in (file for file in listed if isinstance(file, dict)) if isinstance(listed, list) else ():
            name = str(each.get("file_name") or each.get("name") or each.get("file_uuid") or "pasted text")
            text = each.get("extracted_content") or each.get("content")
            if part := to_part(text, **said, heading=name, at=at):
                parts.append(part)
            elif name not in names:
                names.append(name)
    if names:
        left["attachments, kept by name"] += len(names)
    return names, parts


def to_design_parts(message: dict[str, Any], left: Counter[str]) -> Iterator[dict[str, Any]]:
    """The parts of a message of a design chat: its blocks lie one level deeper and have other names."""
    content = message.get("content")
    inner: dict[str, Any] = content if isinstance(content, dict) else {"content": content}
    said = {"role": "assistant" if message.get("role") == "assistant" else "user"}
    at = message.get("created_at") or inner.get("timestamp")
    blocks = inner.get("contentBlocks")
    listed = [each for each in blocks if isinstance(each, dict)] if isinstance(blocks, list) else []
    found = [part for block in listed if (part := _to_block_part(_rename(block), said, at, left))]
    if not found and (flat := to_part(inner.get("content"), **said, at=at)):
        found = [flat]
    yield from found
    yield from _read_attachments(inner, said, at, left)[1]


def _rename(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a design chat as one of a conversation."""
    kind, call, said = block.get("type"), block.get("toolCall"), block.get("message")
    if kind == "tool_call" and isinstance(call, dict):
        return {"type": "tool_use", "name": call.get("name"), "input": call.get("input")}
    if kind == "thinking":
        return {"type": "thinking", "thinking": block.get("text")}
    if said is not None:
        return {"type": kind, "text": said.get("content") if isinstance(said, dict) else said}
    return block

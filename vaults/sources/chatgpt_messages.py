"""A message of ChatGPT as a part of a transcript. What is in it depends on its ``content_type``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from vaults.sources.times import to_rfc3339
from vaults.sources.transcripts import to_part

_Content: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a user told ChatGPT about themselves and how to answer."""

    text: str
    at: str | None


def to_message_part(message: dict[str, Any], left: Counter[str]) -> dict[str, Any] | Instructions | None:
    """The part a message makes; None for one that says nothing or was never shown. What is not carried is counted."""
    content, author, metadata = (_to_object(message.get(name)) for name in ("content", "author", "metadata"))
    kind = str(content.get("content_type") or "text")
    if kind == "user_editable_context":
        return _to_instructions(content, message)
    text = _READERS.get(kind, _read_any)(content, left)
    if metadata.get("is_visually_hidden_from_conversation") or (author.get("role") == "system" and text):
        left.update(["hidden messages"] if text else [])
        return None
    names = _list_attachments(metadata, left)
    role = author.get("role")
    return to_part(
        "\n".join([text, *(f"[attached: {name}]" for name in names)]),
        role=role if role in ("user", "assistant", "tool") else None,
        author=author.get("name") or (metadata.get("model_slug") if role == "assistant" else None),
        at=message.get("create_time"),
        thinking=kind == "thoughts" or None,
    )


def _to_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _to_instructions(content: _Content, message: dict[str, Any]) -> Instructions | None:
    said = [content.get(name) for name in ("user_profile", "user_instructions")]
    text = "\n\n".join(each.strip() for each in said if isinstance(each, str) and each.strip())
    return Instructions(text, to_rfc3339(message.get("create_time"))) if text else None


def _list_attachments(metadata: dict[str, Any], left: Counter[str]) -> list[str]:
    listed = metadata.get("attachments")
    attachments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if attachments:
        left["attachments, kept by name"] += len(attachments)
    return [str(each.get("name") or each.get("id")) for each in attachments]


def _read_parts(content: _Content, left: Counter[str]) -> str:
    listed = content.get("parts")
    pieces = [_read_piece(each, left) for each in listed] if isinstance(listed, list) else []
    return "\n".join(piece for piece in pieces if piece)


def _read_piece(piece: Any, left: Counter[str]) -> str:
    if isinstance(piece, str):
        return piece
    piece = _to_object(piece)
    if isinstance(piece.get("text"), str):  # what was spoken
        return str(piece["text"])
    if "image" in str(piece.get("content_type")):
        left["pictures"] += 1
        prompt = _to_object(_to_object(piece.get("metadata")).get("dalle")).get("prompt")
        return f"[picture: {prompt}]" if prompt else "[picture]"
    if piece:
        left["recordings and other media"] += 1
    return ""


def _read_code(content: _Content, _: Counter[str]) -> str:
    text = content.get("text")
    language = content.get("language")
    shown = language if isinstance(language, str) and language.isalnum() and language != "unknown" else ""
    return f"```{shown}\n{text}\n```" if isinstance(text, str) and text.strip() else ""


def _read_thoughts(content: _Content, _: Counter[str]) -> str:
    thoughts = content.get("thoughts")
    if not isinstance(thoughts, list):
        return thoughts if isinstance(thoughts, str) else ""
    said = [each.get(name) for each in thoughts if isinstance(each, dict) for name in ("summary", "content")]
    return "\n\n".join(each for each in said if isinstance(each, str) and each)


def _read_recap(_: _Content, left: Counter[str]) -> str:
    left["remarks on how long it thought"] += 1
    return ""


def _read_quote(content: _Content, _: Counter[str]) -> str:
    said = (content.get(name) for name in ("title", "url", "text"))
    return "\n".join(each for each in said if isinstance(each, str) and each)


def _read_any(content: _Content, left: Counter[str]) -> str:
    """The text of a kind that nobody has described, wherever it has one."""
    named = [content.get(name) for name in ("text", "result", "content", "summary")]
    text = next((each for each in named if isinstance(each, str) and each.strip()), "") or _read_parts(content, left)
    if not text and len(content) > 1:
        left[f"messages of the kind {content.get('content_type')}"[:60]] += 1
    return text


_READERS: dict[str, Callable[[_Content, Counter[str]], str]] = {
    "text": _read_parts,
    "multimodal_text": _read_parts,
    "code": _read_code,
    "execution_output": _read_code,
    "thoughts": _read_thoughts,
    "reasoning_recap": _read_recap,
    "tether_quote": _read_quote,
}

"""Lines of JSON that anybody can write: ``role``, ``content`` and ``timestamp``, a file for each conversation. They lie
nowhere in particular, so none are found: they are named."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.transcripts.grown_lines import LineFormat, read_grown
from vaults.transcripts.message_blocks import take_blocks
from vaults.transcripts.transcript import ReadPlace, Role, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "jsonl"
_ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "person": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant", "agent": "assistant",
}  # fmt: skip
_TIMES = ("timestamp", "created_at", "time", "ts", "at", "date")
_CONTENTS = ("content", "text", "parts", "message")


def _find(_: Path) -> Iterator[Path]:
    return iter(())


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    part = read_grown(path, place, max_bytes, _LINES)
    if place.offset == 0 and not part.conversations and part.place.offset and not part.more:
        raise InvalidArgument("PATH", f"{path} holds no lines with a role and a content")
    return part


def _name_of(path: Path, log: TurnLog) -> str:
    key = hashlib.blake2b(str(path.parent).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
    return str(log.facts.get("id") or f"{key}:{path.stem}")


def _take(record: dict[str, Any], log: TurnLog) -> None:
    log.note("project", record.get("project") or record.get("cwd"))
    log.name(record.get("title"))
    inner = record.get("message")
    message = inner if isinstance(inner, dict) else record
    at = next((found for each in _TIMES if (found := record.get(each) or message.get(each))), None)
    if isinstance(message.get("model"), str):
        log.facts["agent"] = message["model"]
    said = str(message.get("role") or record.get("role") or record.get("type") or "").lower()
    content = next((found for each in _CONTENTS if (found := message.get(each))), None)
    if said == "tool":
        _take_tool(message, content, at, log)
    elif (role := _ROLES.get(said)) is not None:
        if isinstance(content, str):
            log.say(role, content, at, thinking=bool(message.get("thinking")) and role == "assistant")
        else:
            take_blocks(log, role, content, at)
        for call in _calls_of(message):
            log.call(*call, at)


def _calls_of(message: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Calls of tools as chat interfaces have them beside the content."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield call.get("id"), function.get("name"), function.get("arguments")


def _take_tool(message: dict[str, Any], content: Any, at: Any, log: TurnLog) -> None:
    outcome = content if isinstance(content, str) else ""
    failed = message.get("is_error") if isinstance(message.get("is_error"), bool) else None
    if message.get("tool_call_id"):
        log.answer(message["tool_call_id"], outcome, failed=failed, at=at)
    else:
        log.call("", message.get("name"), message.get("arguments"), at)
        log.end_calls()


_LINES = LineFormat(_NAME, _take, _name_of)
READER = TranscriptReader(_NAME, "lines of JSON", _find, _read)

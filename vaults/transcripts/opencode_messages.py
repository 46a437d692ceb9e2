"""OpenCode's messages and their parts, as its files and its database hold them alike."""

from __future__ import annotations

from typing import Any

from vaults.transcripts.transcript import ToolUse
from vaults.transcripts.turn_log import TurnLog

PROGRAM = "opencode"
_FAILED = {"error": True, "completed": False}


def take_session(session: dict[str, Any], log: TurnLog) -> None:
    """What a session says of itself."""
    log.name(session.get("title"))
    log.note("project", session.get("directory"))
    log.note("parent", session.get("parentID"))


def take_message(message: dict[str, Any], parts: list[dict[str, Any]], log: TurnLog) -> None:
    """Add what the parts of a message say."""
    times = message.get("time")
    at = times.get("created") if isinstance(times, dict) else None
    role = message.get("role")
    if role == "assistant":
        if isinstance(message.get("modelID"), str):
            log.facts["agent"] = message["modelID"]
        path = message.get("path")
        log.note("project", path.get("cwd") if isinstance(path, dict) else None)
    elif role != "user":
        return
    for part in parts:
        _take_part(part, role == "user", at, log)


def _take_part(part: dict[str, Any], by_person: bool, at: Any, log: TurnLog) -> None:  # noqa: FBT001
    kind = part.get("type")
    if kind == "text" and not part.get("synthetic") and not part.get("ignored"):
        log.say("user" if by_person else "assistant", part.get("text"), _start_of(part, at))
    elif kind == "reasoning":
        log.say("assistant", part.get("text"), _start_of(part, at), thinking=True)
    elif kind == "tool":
        state = part.get("state")
        if isinstance(state, dict):
            log.did(_to_use(part, state), _start_of(state, at))


def _start_of(part: dict[str, Any], at: Any) -> Any:
    times = part.get("time")
    return times.get("start", at) if isinstance(times, dict) else at


def _to_use(part: dict[str, Any], state: dict[str, Any]) -> ToolUse:
    arguments, metadata = state.get("input"), state.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, dict) else None
    failed = code != 0 if isinstance(code, int) else _FAILED.get(str(state.get("status")))
    outcome = str(state.get("output") or state.get("error") or "")
    return ToolUse(str(part.get("tool")), arguments if isinstance(arguments, dict) else {}, outcome, failed)

"""Cline, and Roo and Kilo Code, which grew from it: a folder for each task, with what was shown in ``ui_messages.json``
and what was sent in ``api_conversation_history.json``. What was shown is read: it has times, and is never condensed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.transcripts.file_walk import editor_folders, folders_in
from vaults.transcripts.message_blocks import take_blocks
from vaults.transcripts.rewritten import load_json, load_json_or_none, read_rewritten
from vaults.transcripts.transcript import Conversation, ReadPlace, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "cline"
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")
_SHOWN, _SENT, _MESSAGES = "ui_messages.json", "api_conversation_history.json", ".messages.json"
_FOLDER = re.compile(r"Current (?:Working|Workspace) Directory \((/[^)\n]{1,1000}|[A-Za-z]:[^)\n]{1,1000})\)")
_TASK = re.compile(r"^\s*<(?:task|user_message|feedback)>\n?|\n?</(?:task|user_message|feedback)>\s*$")
_HISTORY = 32 << 20


def _find(home: Path) -> Iterator[Path]:
    stores = [user / "globalStorage" / name for user in editor_folders(home) for name in _EXTENSIONS]
    for store in (*stores, home / ".cline" / "data"):
        for task in folders_in(store / "tasks"):
            shown = task / _SHOWN
            if shown.is_file():
                yield shown
            elif (task / _SENT).is_file():
                yield task / _SENT
    for session in folders_in(home / ".cline" / "data" / "sessions"):
        if (messages := session / f"{session.name}{_MESSAGES}").is_file():
            yield messages


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    del max_bytes
    return read_rewritten(path, place, _load)


def _load(path: Path) -> Conversation | None:
    value = load_json(path)
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        raise InvalidArgument("PATH", f"{path} holds no messages of Cline")
    log = TurnLog()
    _take_history(path, log)
    objects = [each for each in messages if isinstance(each, dict)]
    if path.name == _SHOWN:
        _take_shown(objects, log)
    else:
        _take_sent(objects, log)
    log.end_calls()
    return log.to_conversation(_name_of(path, value), _NAME, whole=True)


def _name_of(path: Path, value: Any) -> str:
    named = value.get("sessionId") if isinstance(value, dict) else None
    return named if isinstance(named, str) and named else path.parent.name


def _take_history(path: Path, log: TurnLog) -> None:
    """What the list of tasks says of this one."""
    own = load_json_or_none(path.parent / "history_item.json")
    every = load_json_or_none(path.parents[2] / "state" / "taskHistory.json", _HISTORY)
    listed = every if isinstance(every, list) else []
    items = [own, *(each for each in listed if isinstance(each, dict) and each.get("id") == path.parent.name)]
    for item in items:
        if isinstance(item, dict):
            log.note("project", item.get("workspace") or item.get("cwdOnTaskInitialization"))
            log.note("agent", item.get("modelId"))
            log.note("parent", item.get("parentTaskId"))


def _take_sent(messages: list[dict[str, Any]], log: TurnLog) -> None:
    for message in messages:
        model = message.get("modelInfo")
        if isinstance(model, dict) and isinstance(model.get("id"), str):
            log.facts["agent"] = model["id"]
        content, at = message.get("content"), message.get("ts")
        if message.get("role") == "assistant":
            take_blocks(log, "assistant", content, at)
        elif message.get("role") == "user" and not message.get("isSummary"):
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            _note_folder(blocks, log)
            kept = [_spoken(block) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
            take_blocks(log, "user", kept, at)


def _note_folder(blocks: Any, log: TurnLog) -> None:
    if "project" not in log.facts and (found := _FOLDER.search(json.dumps(blocks, ensure_ascii=False))) is not None:
        log.note("project", found[1])


def _spoken(block: dict[str, Any]) -> dict[str, Any]:
    """What the person wrote: not the surroundings, nor what tools answered in words."""
    text = block.get("text")
    if not isinstance(text, str):
        return block
    said = text.partition("<environment_details>")[0]
    answered = re.match(r"\s*\[[a-z_]+(?: for '[^\n]*')?\] Result:", said) or said.startswith("[ERROR]")
    return block | {"text": "" if answered else _TASK.sub("", said)}


def _take_shown(messages: list[dict[str, Any]], log: TurnLog) -> None:
    first = True
    for message in _join_outputs(messages):
        kind, text, at = _kind_of(message), message.get("text"), message.get("ts")
        if kind in ("text", "task") and first:
            log.say("user", text, at)
            first = False
        elif isinstance(kind, str):
            _take_one(kind, text if isinstance(text, str) else "", at, log)


def _join_outputs(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages that are complete; what a command prints, in pieces as it comes, is joined."""
    for kind, group in groupby((each for each in messages if not each.get("partial")), _kind_of):
        if kind == _OUTPUT:
            pieces = list(group)
            yield pieces[-1] | {"text": "\n".join(str(each.get("text") or "") for each in pieces)}
        else:
            yield from group


def _kind_of(message: dict[str, Any]) -> Any:
    return message.get("say") or message.get("ask")


_ANSWERS = frozenset(("text", "completion_result", "plan_completion_result", "subtask_result"))
_ERRORS = frozenset(("error", "diff_error", "clineignore_error", "rooignore_error", "command_permission_denied"))
_COMMAND, _TOOL, _OUTPUT = "command", "tool", "command_output"


def _take_one(kind: str, text: str, at: Any, log: TurnLog) -> None:
    if kind in ("user_feedback", "user_feedback_diff"):
        log.say("user", text, at)
    elif kind == "reasoning":
        log.say("assistant", text, at, thinking=True)
    elif kind in _ANSWERS:
        log.end_calls()
        log.say("assistant", text, at)
    elif kind in ("followup", "plan_mode_respond", "act_mode_respond"):
        log.say("assistant", _question(text), at)
    elif kind == "api_req_started":
        _note_folder(text, log)
    else:
        _take_step(kind, text, at, log)


def _question(text: str) -> str:
    asked = _object(text)
    said = asked.get("question") or asked.get("response")
    return said if isinstance(said, str) else text


def _take_step(kind: str, text: str, at: Any, log: TurnLog) -> None:
    """A tool that is called, or what came back. One runs at a time, so outcomes need no name."""
    if kind in (_COMMAND, _TOOL, "use_mcp_server"):
        log.end_calls()
        log.call("running", *_call_of(kind, text), at)
    elif kind in (_OUTPUT, "mcp_server_response"):
        log.answer("running", text, failed=None, at=at)
    elif kind in _ERRORS:
        log.answer("running", text, failed=True, at=at)


def _call_of(kind: str, text: str) -> tuple[str, dict[str, Any]]:
    if kind == _COMMAND:
        return "execute_command", {"command": text.partition("\nOutput:")[0]}
    said = _object(text)
    if kind == _TOOL:
        return str(said.pop("tool", _TOOL)), said
    named = f"mcp__{said.get('serverName')}__{said.get('toolName') or said.get('uri')}"
    return named, _object(said.get("arguments"))


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


READER = TranscriptReader(_NAME, "Cline", _find, _read)

"""Codex CLI: a file of lines for each session, below ``~/.codex/sessions`` by day."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.transcripts.file_walk import walk_files
from vaults.transcripts.grown_lines import LineFormat, read_grown
from vaults.transcripts.message_blocks import blocks_of, text_of
from vaults.transcripts.transcript import ReadPlace, ToolUse, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "codex"
_FOLDERS = ("sessions", "archived_sessions")
_DEPTH = 4  # year, month, day, and a folder to spare
_PROGRAM_SAYS = (
    "<environment_context>", "<user_instructions>", "<permissions instructions>", "<collaboration_mode>", "<skill",
    "<turn_aborted>", "<subagent_notification>", "<personality_spec>", "<INSTRUCTIONS>", "# AGENTS.md instructions for",
    "<app-context>", "<model_switch>",
)  # fmt: skip
"""How messages begin that the program writes in the person's name."""

_EXIT = re.compile(r"(?:^|\n)(?:Exit code:|Process exited with code|exit code:) (-?\d+)")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_SHELLS = frozenset(("bash", "sh", "zsh", "fish", "/bin/bash", "/bin/sh", "/bin/zsh", "pwsh", "powershell.exe"))
_BEGINNING = 2_000
"""Characters of an outcome in which its exit code stands."""


def _find(home: Path) -> Iterator[Path]:
    for folder in _FOLDERS:
        yield from walk_files(home / ".codex" / folder, ".jsonl", _DEPTH)


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    return read_grown(path, place, max_bytes, _LINES)


def _name_of(path: Path, log: TurnLog) -> str:
    return str(log.facts.get("id") or path.stem)


def _take(record: dict[str, Any], log: TurnLog) -> None:
    """A record is an item of the conversation in an envelope; in the first versions it was the item itself."""
    payload, at, kind = record.get("payload"), record.get("timestamp"), record.get("type")
    if not isinstance(payload, dict):
        if kind is None and "id" in record:
            _take_meta(record, log)
        else:
            _take_item(record, at, log)
    elif kind == "session_meta":
        _take_meta(payload, log)
    elif kind == "turn_context":
        log.note("project", payload.get("cwd"))
        if isinstance(payload.get("model"), str):
            log.facts["agent"] = payload["model"]
    elif kind == "response_item":
        _take_item(payload, at, log)
    elif kind == "event_msg" and payload.get("type") == "thread_name_updated":
        log.name(payload.get("thread_name"), 2)


def _take_meta(meta: dict[str, Any], log: TurnLog) -> None:
    log.note("id", meta.get("id"))
    log.note("project", meta.get("cwd"))
    source = meta.get("source")
    spawn = source.get("subagent") if isinstance(source, dict) else None
    started = spawn.get("thread_spawn") if isinstance(spawn, dict) else None
    if isinstance(started, dict):
        log.note("parent", started.get("parent_thread_id"))


def _take_item(item: dict[str, Any], at: Any, log: TurnLog) -> None:
    kind = str(item.get("type"))
    if kind == "message":
        _take_message(item, at, log)
    elif kind == "reasoning":
        said = item.get("summary") or item.get("content")
        log.say("assistant", text_of(said), at, thinking=True)
    elif kind.endswith("_call_output"):
        _take_outcome(item, at, log)
    elif kind.endswith("_call"):
        _take_call(kind, item, at, log)


def _take_message(item: dict[str, Any], at: Any, log: TurnLog) -> None:
    if item.get("role") == "assistant":
        log.say("assistant", text_of(item.get("content")), at)
    elif item.get("role") == "user":
        texts = [block.get("text") for block in blocks_of(item.get("content"))]
        spoken = [text for text in texts if isinstance(text, str) and not text.lstrip().startswith(_PROGRAM_SAYS)]
        log.say("user", "\n".join(spoken), at)


def _take_call(kind: str, item: dict[str, Any], at: Any, log: TurnLog) -> None:
    call = item.get("call_id") or item.get("id")
    if kind == "web_search_call":  # no outcome is written down
        log.did(ToolUse("web_search", _arguments_of(item.get("action"))), at)
        return
    if kind == "local_shell_call":
        log.call(call, "local_shell", _arguments_of(item.get("action")), at)
        return
    name, room = str(item.get("name")), item.get("namespace")
    if isinstance(room, str) and room.startswith("mcp__"):
        name = f"{room.rstrip('_')}__{name}"
    log.call(call, name, _arguments_of(item.get("arguments", item.get("input"))), at)


def _arguments_of(value: Any) -> dict[str, Any]:
    """Arguments as an object; a command as one line, a patch as the files it changes."""
    if isinstance(value, str):
        if patched := _PATCHED.findall(value):
            return {"path": patched[0], "paths": patched}
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        value = parsed if isinstance(parsed, dict) else {"input": value}
    if not isinstance(value, dict):
        return {}
    command = value.get("command", value.get("cmd"))
    if isinstance(command, list) and all(isinstance(each, str) for each in command):
        scripted = len(command) == 3 and command[0] in _SHELLS
        command = command[2] if scripted else shlex.join(command)
        if patched := _PATCHED.findall(command):
            return {"path": patched[0], "paths": patched}
    return value | {"command": command} if isinstance(command, str) else value


def _take_outcome(item: dict[str, Any], at: Any, log: TurnLog) -> None:
    output = item.get("output")
    failed: bool | None = None
    if isinstance(output, dict):
        failed = output.get("success") is False or None
        output = output.get("content")
    text = output if isinstance(output, str) else text_of(output)
    if text.startswith('{"output"'):
        try:
            wrapped = json.loads(text)
        except (ValueError, RecursionError):
            wrapped = {}
        metadata = wrapped.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        failed = bool(code) if isinstance(code, int) else failed
        text = str(wrapped.get("output", text))
    elif (found := _EXIT.search(text[:_BEGINNING])) is not None:
        failed = found[1] != "0"
    log.answer(item.get("call_id"), text, failed=failed, at=at)


_LINES = LineFormat(_NAME, _take, _name_of)
READER = TranscriptReader(_NAME, "Codex CLI", _find, _read)

"""Claude Code: a file of lines for each session, below ``~/.claude/projects``; those of agents it started beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.transcripts.file_walk import walk_files
from vaults.transcripts.grown_lines import LineFormat, read_grown
from vaults.transcripts.message_blocks import blocks_of, take_blocks
from vaults.transcripts.transcript import ReadPlace, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "claude-code"
_DEPTH = 4
"""Project, session, ``subagents``, and a folder to spare."""

_TITLES = {"summary": ("summary", 1), "ai-title": ("aiTitle", 2), "custom-title": ("customTitle", 3)}
_UNSPOKEN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Marks of records that the program wrote in the person's name."""

_REMINDER = ("<system-reminder>", "</system-reminder>")
_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")
_PROGRAM_SAYS = ("<local-command-", "<command-message>", "<bash-stdout>", "<bash-stderr>", "Caveat: The messages below")
_SHELL = re.compile(r"<bash-input>([^<]*)</bash-input>")


def _find(home: Path) -> Iterator[Path]:
    return walk_files(home / ".claude" / "projects", ".jsonl", _DEPTH)


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    return read_grown(path, place, max_bytes, _LINES)


def _name_of(path: Path, log: TurnLog) -> str:
    """The session; for an agent's file, whose name alone is too short to be unique, with the session before it."""
    parent = log.facts.get("parent")
    return f"{parent}/{path.stem}" if parent else path.stem


def _take(record: dict[str, Any], log: TurnLog) -> None:
    kind = str(record.get("type"))
    if kind in ("user", "assistant"):
        message = record.get("message")
        if isinstance(message, dict):
            _take_message(record, message, log)
    elif kind in _TITLES:
        field, rank = _TITLES[kind]
        log.name(record.get(field), rank)


def _take_message(record: dict[str, Any], message: dict[str, Any], log: TurnLog) -> None:
    log.note("project", record.get("cwd"))
    at, content, agent = record.get("timestamp"), message.get("content"), record.get("agentId")
    if agent:
        log.note("parent", record.get("sessionId"))
    author = f"agent {agent}" if isinstance(agent, str) else "agent" if record.get("isSidechain") else None
    if record["type"] == "assistant":
        if not record.get("isApiErrorMessage"):
            _take_model(message.get("model"), log)
            take_blocks(log, "assistant", content, at, author)
        return
    unspoken = any(record.get(mark) for mark in _UNSPOKEN)
    blocks = [_spoken(block) for block in blocks_of(content) if not unspoken or block.get("type") != "text"]
    # What starts an agent was written by the one that started it.
    take_blocks(log, "assistant" if author else "user", blocks, at, author)


def _take_model(model: Any, log: TurnLog) -> None:
    if isinstance(model, str) and not model.startswith("<"):
        log.facts["agent"] = model


def _spoken(block: dict[str, Any]) -> dict[str, Any]:
    text = block.get("text")
    return block | {"text": _without_program(text)} if isinstance(text, str) else block


def _without_program(text: str) -> str:
    """What the person typed, without what the program put around it."""
    if (command := _COMMAND.search(text)) is not None:
        arguments = _ARGUMENTS.search(text)
        return f"{command[1]} {arguments[1] if arguments else ''}"
    if (shell := _SHELL.search(text)) is not None:
        return f"! {shell[1]}"
    begin, end = _REMINDER
    kept, at = [], 0
    while (start := text.find(begin, at)) >= 0 and (stop := text.find(end, start)) >= 0:
        kept.append(text[at:start])
        at = stop + len(end)
    spoken = "".join([*kept, text[at:]]).strip()
    return "" if spoken.startswith(_PROGRAM_SAYS) else spoken


_LINES = LineFormat(_NAME, _take, _name_of)
READER = TranscriptReader(_NAME, "Claude Code", _find, _read)

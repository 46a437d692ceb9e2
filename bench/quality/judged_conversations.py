"""Reads the judged conversations of ``tests/vaults/transcripts/extraction/judged``; its README says how they are
written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.run import ROOT
from vaults.transcripts.transcript import Conversation, Role, ToolUse, Turn

FOLDER = ROOT / "tests" / "vaults" / "transcripts" / "extraction" / "judged"
HALVES = ("development", "held_out")
_BEGAN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)

_TOOLS = {
    "codex": ("shell", "apply_patch", "apply_patch", "read_file", "path"),
    "gemini": ("run_shell_command", "replace", "write_file", "read_file", "file_path"),
    "opencode": ("bash", "edit", "write", "read", "filePath"),
    "cursor": ("run_terminal_cmd", "edit_file", "write", "read_file", "target_file"),
    "cline": ("execute_command", "replace_in_file", "write_to_file", "read_file", "path"),
}
_CLAUDE_TOOLS = ("Bash", "Edit", "Write", "Read", "file_path")
_FAILED = {"ok": False, "err": True, "?": None}


@dataclass(frozen=True, slots=True)
class JudgedMemory:
    """A memory that must, or may, be found: one of ``wordings`` has all its phrases in the content."""

    kind: str
    wordings: tuple[tuple[str, ...], ...]
    required: bool

    def fits(self, kind: str, content: str) -> bool:
        """Whether what was found is this."""
        text = content.casefold()
        return kind == self.kind and any(all(phrase in text for phrase in each) for each in self.wordings)


@dataclass(frozen=True, slots=True)
class JudgedConversation:
    """A conversation and what is to be found in it."""

    conversation: Conversation
    judged: tuple[JudgedMemory, ...]


def read_half(name: str) -> list[JudgedConversation]:
    """The conversations of ``development`` or ``held_out``."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [read_conversation(part) for part in text.split("=== ")[1:]]


def read_conversation(text: str) -> JudgedConversation:
    """One conversation, from the line with its id on."""
    head, *lines = text.splitlines()
    name, program, project, _ = head.split(" | ")
    turns: list[Turn] = []
    judged: list[JudgedMemory] = []
    for line, outcome in _with_outcomes(lines):
        mark, _, rest = line.partition(" ")
        if mark in "+~":
            kind, _, phrases = rest.partition(": ")
            wordings = tuple(tuple(p.strip().casefold() for p in each.split(" & ")) for each in phrases.split(" || "))
            judged.append(JudgedMemory(kind, wordings, mark == "+"))
        else:
            turns.append(_to_turn(len(turns), mark, _breaks(rest), outcome, program))
    folder = None if project == "-" else project
    agent = None if program in ("aider", "copilot") else f"model of {program}"
    return JudgedConversation(Conversation(name, program, tuple(turns), project=folder, agent=agent), tuple(judged))


def _with_outcomes(lines: list[str]) -> Iterator[tuple[str, tuple[bool | None, str]]]:
    given = [line for line in lines if line.strip()]
    for number, line in enumerate(given):
        if line.startswith("  "):
            continue
        after = given[number + 1] if number + 1 < len(given) else ""
        state, _, outcome = after.strip().partition(":") if after.startswith("  ") else ("ok", "", "")
        yield line, (_FAILED[state], _breaks(outcome.strip()))


def _to_turn(position: int, mark: str, text: str, outcome: tuple[bool | None, str], program: str) -> Turn:
    at = (_BEGAN + timedelta(minutes=position)).strftime("%Y-%m-%dT%H:%M:%SZ")
    said: dict[str, Role] = {"U": "user", "A": "assistant", "T": "assistant"}
    if mark in said:
        return Turn(position, said[mark], text, at, thinking=mark == "T")
    return Turn(position, "tool", "", at, tool=_to_tool(mark, text, outcome, program))


def _to_tool(mark: str, text: str, outcome: tuple[bool | None, str], program: str) -> ToolUse:
    shell, edit, write, read, path = _TOOLS.get(program, _CLAUDE_TOOLS)
    first, _, rest = text.partition(" :: ")
    if mark == "B":
        command: Any = ["bash", "-lc", text] if program == "codex" else text
        return ToolUse(shell, {"command": command}, outcome[1], outcome[0])
    if mark == "X":
        name, _, arguments = first.partition(" ")
        return ToolUse(name, json.loads(arguments), rest, failed=False)
    if mark in "RF":
        return ToolUse(read if mark == "R" else "WebFetch", {path if mark == "R" else "url": first}, rest, failed=False)
    old, _, new = rest.partition(" => ")
    if program == "codex":
        body = "".join(f"-{line}\n" for line in old.splitlines()) + "".join(f"+{line}\n" for line in new.splitlines())
        patch = f"*** Begin Patch\n*** {'Update' if mark == 'E' else 'Add'} File: {first}\n@@\n{body}*** End Patch\n"
        return ToolUse("apply_patch", {"input": patch}, "Success.", failed=False)
    changed = {"old_string": old, "new_string": new} if mark == "E" else {"content": rest}
    return ToolUse(edit if mark == "E" else write, {path: first, **changed}, "ok", failed=False)


def _breaks(text: str) -> str:
    return text.replace("\\n", "\n")

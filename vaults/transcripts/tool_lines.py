"""A call of a tool in one short line: "ran `pytest -q`: failed"."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from vaults.transcripts.transcript import ToolUse

_SHOWN = 200
"""Characters of an argument, and of a failure, that are shown."""

_COMMANDS = ("command", "cmd", "CommandLine", "script")
_PATHS = (
    "file_path", "path", "filePath", "notebook_path", "absolute_path", "target_file", "relative_workspace_path",
    "dir_path", "relPath", "target_directory",
)  # fmt: skip
_SOUGHT = ("pattern", "query", "regex", "search_term", "q")
_DONE = (
    (re.compile(r"(?i)patch|edit|replace|insert|update_file|diff"), "edited"),
    (re.compile(r"(?i)write|create|newfile|new_file"), "wrote"),
    (re.compile(r"(?i)delete|remove"), "deleted"),
    (re.compile(r"(?i)list|^ls$|glob|dir"), "listed"),
    (re.compile(r"(?i)read|view|open|cat|fetch"), "read"),
)
"""What a tool does with a path, by its name."""

_SPACE = re.compile(r"\s+")


def describe_use(use: ToolUse, redact: Callable[[str], str]) -> str:
    """What was called and how it went. Arguments and outcome are redacted whole, before they are cut to a line."""
    said = _what(use, redact)
    if use.failed is None:
        return said
    if not use.failed:
        return f"{said}: ok"
    reason = _last_line(redact(use.outcome))
    return f"{said}: failed: {reason}" if reason else f"{said}: failed"


def _what(use: ToolUse, redact: Callable[[str], str]) -> str:
    arguments = use.arguments
    if command := _first(arguments, _COMMANDS):
        return f"ran `{_cut(redact(command))}`"
    name = _cut(use.name).replace("`", "'")
    is_foreign = use.name.startswith("mcp")
    if not is_foreign and (path := _first(arguments, _PATHS)):
        done = next((word for pattern, word in _DONE if pattern.search(use.name)), None)
        if done:
            return f"{done} `{_cut(redact(path))}`"
    if not is_foreign and (sought := _first(arguments, _SOUGHT)):
        return f"searched for `{_cut(redact(sought))}`"
    shown = _first(arguments, ("description", "url", "title", "name")) or _first(arguments, tuple(arguments))
    return f"called `{name}`: {_cut(redact(shown))}" if shown else f"called `{name}`"


def _first(arguments: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return " ".join(value)
        if isinstance(value, dict) and value:
            return json.dumps(value, ensure_ascii=False)
    return ""


def _cut(text: str) -> str:
    line = _SPACE.sub(" ", text[: 4 * _SHOWN]).strip().replace("`", "'")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1].rstrip() + "…"


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return _cut(lines[-1]) if lines else ""

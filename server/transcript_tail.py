"""The end of an agent's transcript: what was asked last, and which files were changed. Read without a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TAIL_BYTES = 512 * 1024
_LINE_CHARACTERS = 200
"""Characters of a prompt's first line."""

_MAX_FILES = 10
_WRITERS = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""Tools that change a file, and the argument that names it."""


@dataclass(frozen=True, slots=True)
class LastWork:
    """``asked``: the first line of the last prompt; ``files``: changed last, newest last."""

    asked: str = ""
    files: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The same in words."""
        asked = [f"Last asked: {self.asked}"] if self.asked else []
        return asked + ([f"Files changed: {', '.join(self.files)}"] if self.files else [])


def read_last_work(transcript: Path, folder: Path) -> LastWork:
    """The last work in a transcript of JSON lines; empty if there is none. Paths below ``folder`` become relative."""
    asked, files = "", dict[str, None]()
    for entry in _tail_entries(transcript):
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if entry.get("type") == "user" and not entry.get("isMeta"):
            asked = _first_line(content) or asked
        elif entry.get("type") == "assistant":
            for name in _changed_files(content, folder):
                files.pop(name, None)
                files[name] = None
    return LastWork(asked, tuple(files)[-_MAX_FILES:])


def _tail_entries(transcript: Path) -> Iterator[dict[str, Any]]:
    try:
        with transcript.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).splitlines()
    except OSError:
        return
    for line in lines[1:] if size > _TAIL_BYTES else lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _first_line(content: Any) -> str:
    """The first line of a prompt; empty for tool results and for the program's own messages."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [each.get("text") for each in parts if isinstance(each, dict) and each.get("type") == "text"]
    text = next((each.strip() for each in texts if isinstance(each, str) and each.strip()), "")
    line = text.partition("\n")[0].strip()
    return "" if line.startswith("<") else "".join(each for each in line if each.isprintable())[:_LINE_CHARACTERS]


def _changed_files(content: Any, folder: Path) -> Iterator[str]:
    for each in content if isinstance(content, list) else ():
        if not isinstance(each, dict) or each.get("type") != "tool_use":
            continue
        arguments, wanted = each.get("input"), _WRITERS.get(str(each.get("name")))
        path = arguments.get(wanted) if isinstance(arguments, dict) and wanted else None
        if isinstance(path, str) and path.isprintable() and 0 < len(path) <= _LINE_CHARACTERS:
            yield _relative_name(Path(path), folder)


def _relative_name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name

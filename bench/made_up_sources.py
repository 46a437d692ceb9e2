"""What other systems might have left on a disk, made up: lines, an export of ChatGPT, sessions of Claude Code.

Sentences come from a pool, because a gigabyte of fresh ones would take longer to make than to read. Records have the
fields, the depth and the proportions of real ones: of a session nine tenths are what tools were given and gave back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from bench.made_up_text import TextWriter

POOL = 4_000
_BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
_TYPES = ("fact", "decision", "learning", "plan", "preference")


class Sentences:
    """Texts from a pool of sentences, quickly."""

    def __init__(self, seed: int) -> None:
        writer = TextWriter(seed)
        self._pool = [writer.sentence() for _ in range(POOL)]
        self._random = Random(seed)

    def text(self, count: int) -> str:
        """So many sentences."""
        return " ".join(self._random.choices(self._pool, k=count))


def write_memories(path: Path, count: int, seed: int = 21) -> list[str]:
    """Lines of memories, one to four fresh sentences each; returns their texts."""
    writer, chance, texts = TextWriter(seed), Random(seed), []
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(writer.sentence() for _ in range(chance.randint(1, 4)))
            line = {
                "content": text,
                "type": chance.choice(_TYPES),
                "tags": [f"tag{number % 50}"],
                "external_id": f"m-{number}",
                "created_at": _stamp(number),
            }
            file.write(json.dumps(line) + "\n")
            texts.append(text)
    return texts


def write_memories_of_size(path: Path, size: int, sentences: int, seed: int = 22) -> int:
    """Lines of memories of so many sentences until the file is as large as ``size``; returns how many."""
    made, written, number = Sentences(seed), 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            line = {"content": made.text(sentences), "external_id": f"m-{number}", "created_at": _stamp(number)}
            written += file.write(json.dumps(line) + "\n")
            number += 1
    return number


def write_chatgpt_export(path: Path, size: int, seed: int = 23) -> int:
    """A ``conversations.json`` of about ``size`` bytes, forty messages a conversation; returns how many."""
    made, chance, written, number = Sentences(seed), Random(seed), 0, 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while written < size:
            conversation = json.dumps(_to_chatgpt(number, made, chance))
            written += file.write((", " if number else "") + conversation)
            number += 1
        file.write("]")
    return number


def _to_chatgpt(number: int, made: Sentences, chance: Random) -> dict[str, Any]:
    began = _BEGAN.timestamp() + 3600 * number
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for at in range(40):
        role = ("user", "assistant")[at % 2]
        message = {
            "id": f"n{at}",
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": began + 30.25 * at,
            "update_time": None,
            "content": {"content_type": "text", "parts": [made.text(chance.randint(1, 4) * (1 + 4 * (at % 2)))]},
            "status": "finished_successfully",
            "end_turn": True,
            "weight": 1.0,
            "metadata": {"model_slug": "gpt-5", "request_id": f"r{number}-{at}", "timestamp_": "absolute"},
            "recipient": "all",
            "channel": None,
        }
        parent = f"n{at - 1}" if at else "root"
        mapping[f"n{at}"] = {
            "id": f"n{at}",
            "message": message,
            "parent": parent,
            "children": [f"n{at + 1}"][: at < 39],
        }
    return {
        "title": made.text(1)[:60],
        "create_time": began,
        "update_time": began + 1200.5,
        "mapping": mapping,
        "current_node": "n39",
        "conversation_id": f"c-{number}",
        "default_model_slug": "gpt-5",
        "is_archived": False,
    }


def write_sessions(home: Path, count: int, size: int, seed: int = 24) -> int:
    """Sessions of Claude Code of about ``size`` bytes each, in a project for every ten; returns their bytes."""
    made, chance, total = Sentences(seed), Random(seed), 0
    for number in range(count):
        folder = home / ".claude" / "projects" / f"-home-ann-project-{number // 10}"
        folder.mkdir(parents=True, exist_ok=True)
        session, written = f"{number:08x}-4a2e-417d-ae4b-2e6519234433", 0
        with (folder / f"{session}.jsonl").open("w", encoding="utf-8") as file:
            for record in session_records(session, f"/home/ann/project-{number // 10}", made, chance):
                written += file.write(json.dumps(record) + "\n")
                if written >= size:
                    break
        total += written
    return total


def session_records(session: str, project: str, made: Sentences, chance: Random) -> Iterator[dict[str, Any]]:
    """What a session says, round after round, without end: a question, then three times a thought, a word, a call and
    its outcome, which the program writes down twice, as the model sees it and as it shows it."""
    number = 0
    while True:
        yield _record(session, project, number, "user", made.text(chance.randint(1, 3)))
        for _ in range(3):
            call, number = f"toolu_{session[:8]}{number}", number + 1
            thought = {"type": "thinking", "thinking": made.text(3), "signature": "Eq" * 150}
            yield _record(session, project, number, "assistant", [thought])
            said = {"type": "text", "text": made.text(chance.randint(1, 3))}
            yield _record(session, project, number, "assistant", [said])
            name, given, seen, shown = _TOOLS[number % 3](number, made, chance)
            use = {"type": "tool_use", "id": call, "name": name, "input": given}
            yield _record(session, project, number, "assistant", [use])
            failed = name == "Bash" and number % 4 == 0
            result = {"tool_use_id": call, "type": "tool_result", "content": seen, "is_error": failed}
            yield _record(session, project, number, "user", [result], toolUseResult=shown)


_Outcome = tuple[str, dict[str, Any], str, dict[str, Any]]
"""A tool, what it was given, what the model saw, and what the program keeps beside it."""


def _run(number: int, made: Sentences, chance: Random) -> _Outcome:
    seen = _lines(made, chance.randint(3, 25))
    given = {"command": f"pytest -q tests/test_{number}.py", "description": made.text(1)}
    return "Bash", given, seen, {"stdout": seen, "stderr": "", "interrupted": False, "isImage": False}


def _read(number: int, made: Sentences, chance: Random) -> _Outcome:
    path, content = f"/home/ann/src/module_{number}.py", _lines(made, chance.randint(30, 100))
    file = {"filePath": path, "content": content, "numLines": 65, "startLine": 1, "totalLines": 65}
    seen = "".join(f"{at:6}→{line}\n" for at, line in enumerate(content.split("\n"), 1))
    return "Read", {"file_path": path}, seen, {"type": "text", "file": file}


def _edit(number: int, made: Sentences, chance: Random) -> _Outcome:
    path, old, new = f"/home/ann/src/module_{number}.py", _lines(made, 4), _lines(made, 6)
    given = {"file_path": path, "old_string": old, "new_string": new}
    seen = f"The file {path} has been updated. Here's the result:\n{new}"
    patch = [
        {"oldStart": 1, "oldLines": 4, "newStart": 1, "newLines": 6, "lines": [*old.split("\n"), *new.split("\n")]}
    ]
    original = _lines(made, chance.randint(30, 100))
    shown = {"filePath": path, "oldString": old, "newString": new, "originalFile": original, "structuredPatch": patch}
    return "Edit", given, seen, shown


_TOOLS = (_run, _read, _edit)


def _lines(made: Sentences, count: int) -> str:
    return "\n".join(made.text(1) for _ in range(count))


def _record(session: str, project: str, number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        usage = {"input_tokens": 4, "cache_read_input_tokens": 20_000, "output_tokens": 90, "service_tier": "standard"}
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-5", "usage": usage}
    return {
        "parentUuid": f"{session[:8]}-{number}",
        "isSidechain": False,
        "userType": "external",
        "cwd": project,
        "sessionId": session,
        "version": "2.0.42",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": f"{session}-{number}-{kind}",
        "timestamp": _stamp(number),
        **more,
    }


def _stamp(number: int) -> str:
    return (_BEGAN + timedelta(seconds=40 * (number % 2_000_000))).strftime("%Y-%m-%dT%H:%M:%S.000Z")

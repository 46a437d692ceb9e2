"""What other systems might have left on a disk, made up: lines of memories, an export of ChatGPT, sessions of Claude Code.

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
        mapping[f"n{at}"] = {"id": f"n{at}", "message": message, "parent": parent, "children": [f"n{at + 1}"][: at < 39]}
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
    """What a session says, round after round, without end: a question, a thought, a word, a call and its outcome."""
    number = 0
    while True:
        call = f"toolu_{session[:8]}{number}"
        yield _record(session, project, number, "user", made.text(chance.randint(1, 3)))
        thought = {"type": "thinking", "thinking": made.text(5), "signature": "Eq" * 150}
        yield _record(session, project, number, "assistant", [thought])
        yield _record(session, project, number, "assistant", [{"type": "text", "text": made.text(chance.randint(1, 5))}])
        yield _record(session, project, number, "assistant", [_to_use(call, number, made)])
        seen = "\n".join(made.text(1) for _ in range(chance.randint(15, 40)))
        result = {"tool_use_id": call, "type": "tool_result", "content": seen, "is_error": number % 7 == 3}
        yield _record(session, project, number, "user", [result], toolUseResult={"stdout": seen, "interrupted": False})
        number += 1


def _to_use(call: str, number: int, made: Sentences) -> dict[str, Any]:
    given: dict[str, Any] = {"command": f"pytest -q tests/test_{number}.py", "description": made.text(1)}
    name = "Bash"
    if number % 3:
        path = f"/home/ann/src/module_{number}.py"
        name, given = "Edit", {"file_path": path, "old_string": made.text(4), "new_string": made.text(5)}
    return {"type": "tool_use", "id": call, "name": name, "input": given}


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

"""Gemini CLI's sessions: one object, or lines that add, replace and take back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import Follower, read_once, shown, write_json, write_lines
from vaults.errors import InvalidArgument
from vaults.transcripts.gemini_cli import READER
from vaults.transcripts.transcript import ReadPlace

DIGEST = hashlib.sha256(b"/home/ann/harbour").hexdigest()
HEAD = {
    "sessionId": "2f1c", "projectHash": DIGEST, "startTime": "2026-03-01T08:00:00.000Z",
    "lastUpdated": "2026-03-01T08:00:00.000Z", "kind": "main",
}  # fmt: skip
ASKED = {"id": "m1", "timestamp": "2026-03-01T08:00:00.000Z", "type": "user", "content": [{"text": "Oil the hinge"}]}
ANSWERED = {
    "id": "m2", "timestamp": "2026-03-01T08:01:00.000Z", "type": "gemini", "content": "Oiled.", "model": "gemini-3-pro",
    "thoughts": [{"subject": "Finding it", "description": "It squeaks.", "timestamp": "2026-03-01T08:00:30.000Z"}],
    "tokens": {"input": 1, "output": 2, "cached": 0, "total": 3},
    "toolCalls": [
        {
            "id": "run_shell_command-1", "name": "run_shell_command", "args": {"command": "make"}, "status": "error",
            "timestamp": "2026-03-01T08:00:40.000Z",
            "result": [{"functionResponse": {"id": "x", "name": "y", "response": {"output": "Error 2"}}}],
        }
    ],
}  # fmt: skip
NOISE = {"id": "m0", "timestamp": "2026-03-01T08:00:00.000Z", "type": "info", "content": "Update available"}
EXPECTED = [
    ("user", "Oil the hinge"),
    ("thinking", "Finding it\nIt squeaks."),
    ("assistant", "Oiled."),
    ("tool", "run_shell_command"),
]


def chats(home: Path, project: str = DIGEST) -> Path:
    return home / ".gemini" / "tmp" / project / "chats"


def test_a_session_that_is_one_object(tmp_path: Path) -> None:
    path = chats(tmp_path) / "session-2026-03-01T08-00-2f1c.json"
    write_json(path, HEAD | {"summary": "Hinges", "messages": [NOISE, ASKED, ANSWERED]})
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == EXPECTED
    assert (conversation.id, conversation.title, conversation.agent) == ("2f1c", "Hinges", "gemini-3-pro")
    assert conversation.project == DIGEST[:12]
    tool = conversation.turns[3].tool
    assert tool is not None
    assert (tool.arguments, tool.outcome, tool.failed) == ({"command": "make"}, "Error 2", True)


def test_a_session_in_lines_hides_the_object_it_went_on_from(tmp_path: Path) -> None:
    folder = chats(tmp_path, "harbour")
    write_json(folder / "session-a.json", HEAD | {"messages": [ASKED]})
    half = ANSWERED | {"content": "", "toolCalls": []}
    path = write_lines(folder / "session-a.jsonl", [HEAD, ASKED, half, {"$set": {"summary": "Hinges"}}, ANSWERED])
    (folder.parent / ".project_root").write_text("/home/ann/harbour\n")
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == EXPECTED
    assert (conversation.title, conversation.project) == ("Hinges", "/home/ann/harbour")


def test_the_registry_knows_the_folder_of_a_project(tmp_path: Path) -> None:
    path = write_lines(chats(tmp_path, "harbour") / "session-a.jsonl", [HEAD, ASKED])
    write_json(tmp_path / ".gemini" / "projects.json", {"projects": {"/home/ann/harbour": "harbour"}})
    assert read_once(READER, path).project == "/home/ann/harbour"


def test_what_is_taken_back_makes_the_conversation_whole(tmp_path: Path) -> None:
    path = write_lines(chats(tmp_path) / "session-a.jsonl", [HEAD, ASKED])
    follower = Follower(READER, path)
    follower.look()
    with path.open("a") as file:
        file.write(json.dumps(ANSWERED) + "\n")
    (more,) = follower.look()
    assert (more.whole, shown(more)) == (False, EXPECTED[1:])
    with path.open("a") as file:
        file.write(json.dumps({"$rewindTo": "m2"}) + "\n" + json.dumps(ASKED | {"id": "m3", "content": "Paint it"}))
    (whole,) = follower.look()
    assert (whole.whole, shown(whole)) == (True, [EXPECTED[0], ("user", "Paint it")])


def test_an_agent_it_started_knows_its_parent(tmp_path: Path) -> None:
    path = write_lines(chats(tmp_path) / "2f1c" / "agent.jsonl", [HEAD | {"sessionId": "9", "kind": "subagent"}, ASKED])
    assert list(READER.find(tmp_path)) == [path]
    assert read_once(READER, path).parent == "2f1c"


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    for value in ([], {"messages": []}, 3):
        with pytest.raises(InvalidArgument):
            READER.read(write_json(chats(tmp_path) / "x.json", value), ReadPlace(), 1000)


def test_messages_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [
        3, {}, {"id": 4, "type": "user"}, {"id": "a", "type": "gemini", "thoughts": 3, "toolCalls": [{}, 3]},
        {"id": "b", "type": "gemini", "toolCalls": [{"args": 3, "result": [{"functionResponse": 3}]}]},
        {"id": "c", "type": "gemini", "content": [[3]]},
    ]  # fmt: skip
    path = write_json(chats(tmp_path) / "x.json", HEAD | {"messages": [*odd, ASKED]})
    assert shown(read_once(READER, path))[-1] == EXPECTED[0]
    lines = [HEAD, {"$rewindTo": [1]}, {"$set": 3}, {"$set": {"messages": [3, {}]}}, {"$rewindTo": "x"}, ASKED]
    assert shown(read_once(READER, write_lines(chats(tmp_path) / "y.jsonl", lines))) == EXPECTED[:1]

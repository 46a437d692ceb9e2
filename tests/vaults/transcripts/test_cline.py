"""Tasks of Cline and its relatives, as they were shown and as they were sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import Follower, read_once, shown, write_json
from vaults.errors import InvalidArgument
from vaults.transcripts.cline import READER
from vaults.transcripts.transcript import ReadPlace

START = 1767600000000


def say(kind: str, text: str = "", minute: int = 0, **more: Any) -> dict[str, Any]:
    return {"ts": START + 60_000 * minute, "type": "say", "say": kind, "text": text, **more}


def ask(kind: str, text: str = "", minute: int = 0, **more: Any) -> dict[str, Any]:
    return {"ts": START + 60_000 * minute, "type": "ask", "ask": kind, "text": text, **more}


SHOWN = [
    say("text", "Oil the hinge"),
    say("api_req_started", json.dumps({"request": "# Current Working Directory (/home/ann/harbour) Files"})),
    say("reasoning", "Which one?"),
    say("text", "I'll look."),
    say("text", "I'll look.", partial=True),
    ask("tool", json.dumps({"tool": "readFile", "path": "gate.py", "content": "…"})),
    ask("command", "pytest -q"),
    ask("command_output", "1 passed"),
    say("command_output", "in 2 s"),
    ask(
        "use_mcp_server", json.dumps({"serverName": "strongroom", "toolName": "recall", "arguments": '{"query": "x"}'})
    ),
    say("mcp_server_response", "secret memory"),
    say("tool", json.dumps({"tool": "editedExistingFile", "path": "hinge.py", "diff": "…"})),
    say("diff_error", "no match"),
    ask("followup", json.dumps({"question": "Which oil?", "options": ["a", "b"]})),
    say("user_feedback", "Olive"),
    say("checkpoint_created"),
    say("completion_result", "Oiled.", 5),
    ask("completion_result", ""),
]
EXPECTED = [
    ("user", "Oil the hinge"),
    ("thinking", "Which one?"),
    ("assistant", "I'll look."),
    ("tool", "readFile"),
    ("tool", "execute_command"),
    ("tool", "mcp__strongroom__recall"),
    ("tool", "editedExistingFile"),
    ("assistant", "Which oil?"),
    ("user", "Olive"),
    ("assistant", "Oiled."),
]


def store(home: Path, extension: str = "saoudrizwan.claude-dev") -> Path:
    return home / ".config" / "Code" / "User" / "globalStorage" / extension


def test_a_task_as_it_was_shown(tmp_path: Path) -> None:
    path = write_json(store(tmp_path) / "tasks" / "1767600000000" / "ui_messages.json", SHOWN)
    write_json(path.with_name("api_conversation_history.json"), [])
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == EXPECTED
    assert (conversation.id, conversation.project) == ("1767600000000", "/home/ann/harbour")
    assert (conversation.started_at, conversation.ended_at) == ("2026-01-05T08:00:00.000Z", "2026-01-05T08:05:00.000Z")
    ran, edited = conversation.turns[4].tool, conversation.turns[6].tool
    assert ran
    assert edited
    assert (ran.arguments, ran.outcome) == ({"command": "pytest -q"}, "1 passed\nin 2 s")
    assert (edited.arguments["path"], edited.outcome, edited.failed) == ("hinge.py", "no match", True)


def test_the_list_of_tasks_knows_the_folder(tmp_path: Path) -> None:
    path = write_json(store(tmp_path) / "tasks" / "7" / "ui_messages.json", SHOWN)
    history = [{"id": "7", "cwdOnTaskInitialization": "/home/ann/x", "modelId": "m"}, {"id": "8"}, 3]
    write_json(store(tmp_path) / "state" / "taskHistory.json", history)
    conversation = read_once(READER, path)
    assert (conversation.project, conversation.agent) == ("/home/ann/x", "m")
    roo = write_json(store(tmp_path, "rooveterinaryinc.roo-cline") / "tasks" / "9" / "ui_messages.json", SHOWN)
    write_json(roo.with_name("history_item.json"), {"id": "9", "workspace": "/home/ann/y", "parentTaskId": "7"})
    conversation = read_once(READER, roo)
    assert (conversation.project, conversation.parent) == ("/home/ann/y", "7")
    assert list(READER.find(tmp_path)) == [path, roo]


SENT = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "<task>\nOil the hinge\n</task>"},
            {"type": "text", "text": "<environment_details>\n# Current Workspace Directory (/home/ann/z) Files"},
        ],
        "ts": START,
    },
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Looking."},
                                      {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a.py"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x = 1"}]},
    {"role": "user", "content": [{"type": "text", "text": "[read_file for 'a.py'] Result:\nx = 1"}]},
    {"role": "assistant", "content": "Done.", "modelInfo": {"id": "claude-sonnet-4-6"}},
]  # fmt: skip


def test_a_task_as_it_was_sent_where_that_is_all_there_is(tmp_path: Path) -> None:
    path = write_json(store(tmp_path) / "tasks" / "7" / "api_conversation_history.json", SENT)
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == [
        ("user", "Oil the hinge"),
        ("thinking", "Hm"),
        ("assistant", "Looking."),
        ("tool", "read_file"),
        ("assistant", "Done."),
    ]
    assert (conversation.project, conversation.agent) == ("/home/ann/z", "claude-sonnet-4-6")


def test_the_newer_sessions_outside_of_an_editor(tmp_path: Path) -> None:
    folder = tmp_path / ".cline" / "data" / "sessions" / "s1"
    value = {
        "version": 1,
        "updated_at": "2026-04-22T17:42:10.123Z",
        "agent": "lead",
        "sessionId": "s1",
        "messages": SENT,
    }
    path = write_json(folder / "s1.messages.json", value)
    assert list(READER.find(tmp_path)) == [path]
    assert read_once(READER, path).id == "s1"


def test_a_growing_task(tmp_path: Path) -> None:
    path = write_json(store(tmp_path) / "tasks" / "7" / "ui_messages.json", SHOWN[:4])
    follower = Follower(READER, path)
    follower.look()
    write_json(path, SHOWN)
    (more,) = follower.look()
    assert (more.whole, shown(more)) == (False, EXPECTED[3:])


def test_what_is_no_task_is_refused(tmp_path: Path) -> None:
    path = store(tmp_path) / "tasks" / "7" / "ui_messages.json"
    write_json(path, {"messages": 3})
    with pytest.raises(InvalidArgument):
        READER.read(path, ReadPlace(), 1000)
    path.write_text('[{"ts": 1')
    with pytest.raises(InvalidArgument):
        READER.read(path, ReadPlace(), 1000)


def test_messages_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [3, {}, {"say": 3}, say("tool", "no json"), say("tool", "[]"), ask("use_mcp_server", "{}"),
                      {"say": "text", "text": 3}, {"ask": ["x"]}, {"say": "command_output", "text": None}]  # fmt: skip
    path = write_json(store(tmp_path) / "tasks" / "7" / "ui_messages.json", [*odd, say("user_feedback", "Hello")])
    assert shown(read_once(READER, path))[-1] == ("user", "Hello")
    sent: list[Any] = [3, {}, {"role": "user", "content": 3}, {"role": "user", "content": [3, {"text": 3}]}]
    path = write_json(store(tmp_path) / "tasks" / "8" / "api_conversation_history.json", [*sent, *SENT])
    assert shown(read_once(READER, path))[-1] == ("assistant", "Done.")

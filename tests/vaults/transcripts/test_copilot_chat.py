"""Chats of VS Code: one object, or a log of what changed in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import Follower, read_once, shown, write_json, write_lines
from vaults.errors import InvalidArgument
from vaults.transcripts.copilot_chat import READER
from vaults.transcripts.transcript import ReadPlace

URI = {"$mid": 1, "fsPath": "/home/ann/harbour/gate.py", "path": "/home/ann/harbour/gate.py", "scheme": "file"}
RESPONSE: list[dict[str, Any]] = [
    {"kind": "mcpServersStarting", "didStartServerIds": []},
    {"kind": "thinking", "value": "Which one?", "id": "t"},
    {"value": "I'll look at ", "supportThemeIcons": False},
    {"kind": "inlineReference", "inlineReference": URI, "name": "gate.py"},
    {"value": "."},
    {"kind": "prepareToolInvocation", "toolName": "run_in_terminal"},
    {
        "kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": "c", "isComplete": True,
        "invocationMessage": {"value": "Running"},
        "toolSpecificData": {"kind": "terminal", "language": "sh", "commandLine": {"original": "make"},
                             "terminalCommandState": {"exitCode": 2}},
    },
    {
        "kind": "toolInvocationSerialized", "toolId": "copilot_readFile", "isComplete": True,
        "pastTenseMessage": {"value": "Read gate.py"},
    },
    {
        "kind": "toolInvocationSerialized", "toolId": "mcp_strongroom_recall", "isComplete": True,
        "resultDetails": {"input": '{"query": "x"}', "output": [{"value": "a memory"}], "isError": False},
    },
    {"kind": "textEditGroup", "uri": URI, "edits": [[{"text": "x"}]], "done": True},
    {"value": "Oiled."},
]  # fmt: skip
REQUEST = {
    "requestId": "r1", "timestamp": 1767600000000, "modelId": "copilot/gpt-5", "response": RESPONSE,
    "message": {"text": "Oil the hinge", "parts": []}, "result": {"metadata": {}},
}  # fmt: skip
EXPECTED = [
    ("user", "Oil the hinge"),
    ("thinking", "Which one?"),
    ("assistant", "I'll look at `gate.py`."),
    ("tool", "run_in_terminal"),
    ("tool", "copilot_readFile"),
    ("tool", "mcp_strongroom_recall"),
    ("tool", "edit"),
    ("assistant", "Oiled."),
]
CHAT = {
    "version": 3, "sessionId": "5a0d", "creationDate": 1767600000000, "customTitle": "Hinges", "requests": [REQUEST],
    "responderUsername": "GitHub Copilot",
}  # fmt: skip


def chats(home: Path) -> Path:
    workspace = home / ".config" / "Code" / "User" / "workspaceStorage" / "1f"
    write_json(workspace / "workspace.json", {"folder": "file:///home/ann/my%20harbour"})
    return workspace / "chatSessions"


def test_a_chat_that_is_one_object(tmp_path: Path) -> None:
    path = write_json(chats(tmp_path) / "5a0d.json", CHAT)
    empty = write_json(
        tmp_path / ".config/Code/User/globalStorage/emptyWindowChatSessions/x.json", CHAT | {"sessionId": "x"}
    )
    assert list(READER.find(tmp_path)) == [path, empty]
    conversation = read_once(READER, path)
    assert shown(conversation) == EXPECTED
    assert (conversation.id, conversation.title, conversation.agent) == ("5a0d", "Hinges", "copilot/gpt-5")
    assert conversation.project == "/home/ann/my harbour"
    assert read_once(READER, empty).project is None
    ran, read, recalled, edited = (turn.tool for turn in conversation.turns[3:7])
    assert ran
    assert read
    assert recalled
    assert edited
    assert (ran.arguments, ran.failed) == ({"command": "make"}, True)
    assert (read.arguments, read.failed) == ({"description": "Read gate.py"}, None)
    assert (recalled.outcome, recalled.failed) == ("a memory", False)
    assert edited.arguments == {"path": "/home/ann/harbour/gate.py"}


LOG: list[dict[str, Any]] = [
    {"kind": 0, "v": CHAT | {"requests": [], "customTitle": None}},
    {"kind": 2, "k": ["requests"], "v": [REQUEST | {"response": []}]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [*RESPONSE[:3], {"value": "half"}]},
    {"kind": 2, "k": ["requests", 0, "response"], "i": 3, "v": RESPONSE[3:]},
    {"kind": 1, "k": ["customTitle"], "v": "Hinges"},
    {"kind": 1, "k": ["inputState", "text"], "v": "typing"},
    {"kind": 3, "k": ["pendingRequests"]},
]


def test_a_chat_that_is_a_log_of_changes_hides_the_object_it_was(tmp_path: Path) -> None:
    write_json(chats(tmp_path) / "5a0d.json", CHAT)
    path = write_lines(chats(tmp_path) / "5a0d.jsonl", LOG)
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert (shown(conversation), conversation.title) == (EXPECTED, "Hinges")


def test_a_chat_that_goes_on(tmp_path: Path) -> None:
    path = write_lines(chats(tmp_path) / "5a0d.jsonl", LOG)
    follower = Follower(READER, path)
    follower.look()
    again = REQUEST | {"message": {"text": "Again"}, "response": []}
    write_lines(path, [*LOG, {"kind": 2, "k": ["requests"], "v": [again]}])
    (more,) = follower.look()
    assert (more.whole, shown(more)) == (False, [("user", "Again")])


def test_what_is_no_chat_is_refused(tmp_path: Path) -> None:
    for value in ([], {"requests": 3}, None):
        with pytest.raises(InvalidArgument):
            READER.read(write_json(chats(tmp_path) / "x.json", value), ReadPlace(), 1000)
    with pytest.raises(InvalidArgument):
        READER.read(write_lines(chats(tmp_path) / "x.jsonl", [{"kind": 1, "k": ["x"], "v": 1}]), ReadPlace(), 1000)


def test_changes_and_parts_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [
        {"kind": 1, "k": ["requests", 10**9], "v": 1}, {"kind": 2, "k": ["x", "y"], "v": 1}, {"kind": 3, "k": [0]},
        {"kind": 1, "k": [["x"]], "v": 1}, {"kind": 2, "k": ["requests", 0, "response"], "v": [3, {"kind": ["x"]}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"kind": "toolInvocationSerialized", "resultDetails": []}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"kind": "thinking", "value": {}}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"kind": "textEditGroup", "uri": {"uri": 3}}]},
    ]  # fmt: skip
    path = write_lines(chats(tmp_path) / "5a0d.jsonl", [*LOG, *odd])
    assert shown(read_once(READER, path))[: len(EXPECTED)] == EXPECTED

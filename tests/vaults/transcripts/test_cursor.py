"""Cursor's databases: conversations under keys, and tabs of older versions."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import Follower, make_tables, read_once, shown, write_json
from vaults.errors import InvalidArgument
from vaults.transcripts.cursor import READER
from vaults.transcripts.transcript import ReadPlace

BUBBLES: dict[str, dict[str, Any]] = {
    "b1": {"type": 1, "text": "Oil the hinge", "createdAt": "2026-01-05T09:00:00.000Z"},
    "b2": {"type": 2, "text": "", "thinking": {"text": "Which one?"}, "modelInfo": {"modelName": "claude-4.5"}},
    "b3": {
        "type": 2, "text": "",
        "toolFormerData": {"name": "run_terminal_cmd", "status": "completed", "rawArgs": '{"command": "make"}',
                           "result": '{"output": "Error 2", "exitCode": 2}'},
    },
    "b4": {"type": 2, "toolFormerData": {"name": "edit_file", "status": "error", "params": '{"target_file": "a.py"}'}},
    "b5": {"type": 2, "text": "Oiled."},
}  # fmt: skip
EXPECTED = [
    ("user", "Oil the hinge"),
    ("thinking", "Which one?"),
    ("tool", "run_terminal_cmd"),
    ("tool", "edit_file"),
    ("assistant", "Oiled."),
]


def user(home: Path) -> Path:
    return home / ".config" / "Cursor" / "User"


def make_file(path: Path) -> sqlite3.Connection:
    return make_tables(
        path,
        "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
        "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
    )


def put(db: sqlite3.Connection, key: str, value: Any, table: str = "cursorDiskKV") -> None:
    db.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, json.dumps(value)))
    db.commit()


def put_conversation(db: sqlite3.Connection, name: str, bubbles: dict[str, dict[str, Any]]) -> None:
    for key, bubble in bubbles.items():
        put(db, f"bubbleId:{name}:{key}", bubble)
    put(
        db,
        f"composerData:{name}",
        {
            "composerId": name, "name": "Hinges", "createdAt": 1767600000000, "lastUpdatedAt": len(bubbles),
            "modelConfig": {"modelName": "default"},
            "workspaceIdentifier": {"id": "x", "uri": {"fsPath": "/home/ann/harbour", "scheme": "file"}},
            "fullConversationHeadersOnly": [{"bubbleId": key, "type": each["type"]} for key, each in bubbles.items()],
        },
    )  # fmt: skip


def test_a_conversation_under_its_keys(tmp_path: Path) -> None:
    path = user(tmp_path) / "globalStorage" / "state.vscdb"
    db = make_file(path)
    put_conversation(db, "c1", BUBBLES)
    put(db, "composerData:c0", {"composerId": "c0", "fullConversationHeadersOnly": []})
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == EXPECTED
    assert (conversation.id, conversation.title, conversation.agent) == ("c1", "Hinges", "claude-4.5")
    assert conversation.project == "/home/ann/harbour"
    ran, edited = conversation.turns[2].tool, conversation.turns[3].tool
    assert ran
    assert edited
    assert (ran.arguments, ran.failed) == ({"command": "make"}, True)
    assert (edited.arguments, edited.failed) == ({"target_file": "a.py"}, True)
    db.close()


def test_only_what_changed_is_new(tmp_path: Path) -> None:
    path = user(tmp_path) / "globalStorage" / "state.vscdb"
    db = make_file(path)
    put_conversation(db, "c1", BUBBLES)
    follower = Follower(READER, path, max_bytes=1)
    follower.look()
    assert follower.look() == []
    put_conversation(db, "c1", BUBBLES | {"b6": {"type": 1, "text": "Thanks"}})
    put_conversation(db, "c2", BUBBLES)
    assert [(each.id, each.whole, len(each.turns)) for each in follower.look()] == [("c1", False, 1), ("c2", True, 5)]
    db.close()


def test_older_versions_kept_messages_inside_and_tabs_in_workspaces(tmp_path: Path) -> None:
    db = make_file(user(tmp_path) / "globalStorage" / "state.vscdb")
    inside = [{"type": 1, "text": "Hello", "workspaceUris": ["file:///home/ann/x"]}, {"type": 2, "text": "Hi"}]
    put(db, "composerData:c1", {"composerId": "c1", "conversation": inside})
    db.close()
    workspace = user(tmp_path) / "workspaceStorage" / "1f"
    write_json(workspace.parent / "1f" / "workspace.json", {"folder": "file:///home/ann/y"})
    db = make_file(workspace / "state.vscdb")
    tab = {
        "tabId": "t1",
        "chatTitle": "Old",
        "bubbles": [{"type": "user", "text": "Q"}, {"type": "ai", "rawText": "A"}],
    }
    put(db, "workbench.panel.aichat.view.aichat.chatdata", {"tabs": [tab]}, "ItemTable")
    db.close()
    one, other = (read_once(READER, path) for path in READER.find(tmp_path))
    assert (one.project, shown(one)) == ("/home/ann/x", [("user", "Hello"), ("assistant", "Hi")])
    assert (other.id, other.project, other.title) == ("t1", "/home/ann/y", "Old")
    assert shown(other) == [("user", "Q"), ("assistant", "A")]


def test_what_is_no_database_of_cursor_is_refused(tmp_path: Path) -> None:
    path = user(tmp_path) / "globalStorage" / "state.vscdb"
    make_tables(path, "CREATE TABLE other (x)").close()
    with pytest.raises(InvalidArgument):
        READER.read(path, ReadPlace(), 1000)
    path.write_text("no database at all")
    with pytest.raises(InvalidArgument):
        READER.read(path, ReadPlace(), 1000)


def test_values_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    path = user(tmp_path) / "globalStorage" / "state.vscdb"
    db = make_file(path)
    put_conversation(db, "c1", BUBBLES | {"b9": {"type": ["x"], "toolFormerData": 3, "thinking": 3, "text": 3}})
    put_conversation(db, "c2", {"b1": {"type": 2, "toolFormerData": {"name": "x", "result": {"a": 1}, "rawArgs": 3}}})
    for number, value in enumerate((3, [], "x", {"fullConversationHeadersOnly": [3, {"bubbleId": []}], "name": 3})):
        put(db, f"composerData:odd{number}", value)
    put(db, "workbench.panel.aichat.view.aichat.chatdata", {"tabs": [{"bubbles": 3}, 3]}, "ItemTable")
    db.execute(
        "INSERT INTO cursorDiskKV VALUES ('composerData:blob', ?)", (b'{"conversation": [{"type": 1, "text": "B"}]}',)
    )
    db.execute("INSERT INTO cursorDiskKV VALUES ('composerData:null', NULL)")
    db.commit()
    db.close()
    follower = Follower(READER, path)
    follower.look()
    assert set(follower.turns) == {"c1", "c2", "blob"}

"""OpenCode's sessions, in files and in its database. Covers vaults.transcripts.opencode_database and
vaults.transcripts.opencode_messages."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import Follower, make_tables, read_once, shown, write_json
from vaults.errors import InvalidArgument
from vaults.transcripts.opencode import READER
from vaults.transcripts.transcript import ReadPlace

SESSION = {
    "id": "ses_1", "projectID": "p", "directory": "/home/ann/harbour", "title": "Hinges", "version": "1.0.1",
    "parentID": "ses_0", "time": {"created": 1767600000000, "updated": 1767600000000},
}  # fmt: skip
ASKED = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1767600001000}}
ANSWERED = {
    "id": "msg_2", "sessionID": "ses_1", "role": "assistant", "modelID": "claude-sonnet-4-5", "providerID": "anthropic",
    "path": {"cwd": "/home/ann/harbour", "root": "/"}, "time": {"created": 1767600002000, "completed": 1767600009000},
}  # fmt: skip
PARTS = {
    "msg_1": [
        {"type": "text", "text": "Oil the hinge"},
        {"type": "text", "text": "Called the Read tool", "synthetic": True},
    ],
    "msg_2": [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Which one?", "time": {"start": 1767600003000}},
        {
            "type": "tool", "tool": "bash", "callID": "c",
            "state": {"status": "completed", "input": {"command": "make"}, "output": "Error 2", "metadata": {"exit": 2},
                      "time": {"start": 1767600004000, "end": 1767600005000}},
        },
        {"type": "tool", "tool": "edit", "callID": "d", "state": {"status": "error", "input": {"filePath": "a.py"},
                                                                    "error": "not found"}},
        {"type": "text", "text": "Oiled.", "time": {"start": 1767600006000}},
        {"type": "step-finish", "cost": 0},
    ],
}  # fmt: skip
EXPECTED = [
    ("user", "Oil the hinge"),
    ("thinking", "Which one?"),
    ("tool", "bash"),
    ("tool", "edit"),
    ("assistant", "Oiled."),
]


def base(home: Path) -> Path:
    return home / ".local" / "share" / "opencode"


def make_files(home: Path) -> Path:
    storage = base(home) / "storage"
    for message in (ASKED, ANSWERED):
        write_json(storage / "message" / "ses_1" / f"{message['id']}.json", message)
        for number, part in enumerate(PARTS[str(message["id"])]):
            write_json(storage / "part" / str(message["id"]) / f"prt_{number}.json", part)
    return write_json(storage / "session" / "p" / "ses_1.json", SESSION)


def make_database(home: Path) -> tuple[Path, sqlite3.Connection]:
    path = base(home) / "opencode.db"
    db = make_tables(
        path,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT,"
        " title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER)",
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,"
        " data TEXT)",
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,"
        " time_updated INTEGER, data TEXT)",
    )
    add_session(db, "ses_1")
    return path, db


def add_session(db: sqlite3.Connection, name: str) -> None:
    db.execute(
        "INSERT INTO session VALUES (?, 'p', 'ses_0', 's', '/home/ann/harbour', 'Hinges', '1.2', ?, 1)",
        (name, int(name.removeprefix("ses_"))),
    )
    for message in (ASKED, ANSWERED):
        key = f"{name}.{message['id']}"
        data = {field: value for field, value in message.items() if field not in ("id", "sessionID")}
        db.execute("INSERT INTO message VALUES (?, ?, ?, 1, ?)", (key, name, key[-1], json.dumps(data)))
        for number, part in enumerate(PARTS[str(message["id"])]):
            values = (f"{key}.prt_{number}", key, name, json.dumps(part))
            db.execute("INSERT INTO part VALUES (?, ?, ?, 1, 1, ?)", values)
    db.commit()


def check(conversation: Any) -> None:
    assert shown(conversation) == EXPECTED
    assert (conversation.title, conversation.project) == ("Hinges", "/home/ann/harbour")
    assert (conversation.agent, conversation.parent) == ("claude-sonnet-4-5", "ses_0")
    bash, edit = (turn.tool for turn in conversation.turns[2:4])
    assert (bash.arguments, bash.failed) == ({"command": "make"}, True)
    assert (edit.outcome, edit.failed) == ("not found", True)


def test_a_session_in_files(tmp_path: Path) -> None:
    path = make_files(tmp_path)
    assert list(READER.find(tmp_path)) == [path]
    check(read_once(READER, path))


def test_a_further_message_is_new_and_a_changed_one_makes_it_whole(tmp_path: Path) -> None:
    path = make_files(tmp_path)
    follower = Follower(READER, path)
    follower.look()
    assert follower.look() == []
    storage = base(tmp_path) / "storage"
    assert storage / "part" / "msg_2" / "prt_4.json" in READER.beside(path)
    write_json(storage / "message" / "ses_1" / "msg_3.json", ASKED | {"id": "msg_3"})
    write_json(storage / "part" / "msg_3" / "prt_0.json", {"type": "text", "text": "Thanks"})
    assert storage / "part" / "msg_3" / "prt_0.json" in READER.beside(path)
    (more,) = follower.look()
    assert (more.whole, shown(more)) == (False, [("user", "Thanks")])
    write_json(storage / "part" / "msg_2" / "prt_4.json", {"type": "text", "text": "Oiled twice."})
    (whole,) = follower.look()
    assert whole.whole
    assert shown(whole)[4] == ("assistant", "Oiled twice.")


def test_a_session_in_the_database_which_hides_the_files_it_was_made_of(tmp_path: Path) -> None:
    make_files(tmp_path)
    path, db = make_database(tmp_path)
    assert list(READER.find(tmp_path)) == [path]
    assert list(READER.beside(path)) == [path.with_name("opencode.db-wal")]
    check(read_once(READER, path))
    db.close()


def test_the_database_is_read_without_a_trace_while_it_is_open(tmp_path: Path) -> None:
    path, db = make_database(tmp_path)

    def see() -> dict[str, str]:
        return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in path.parent.iterdir()}

    before = see()
    read_once(READER, path)
    assert see() == before
    db.close()


def test_only_what_changed_in_the_database_is_new(tmp_path: Path) -> None:
    path, db = make_database(tmp_path)
    follower = Follower(READER, path, max_bytes=1)
    follower.look()
    add_session(db, "ses_2")
    add_session(db, "ses_3")
    assert [(each.id, each.whole) for each in follower.look()] == [("ses_2", True), ("ses_3", True)]
    data = json.dumps({"type": "text", "text": "More"})
    db.execute("INSERT INTO part VALUES ('ses_1.z', 'ses_1.msg_2', 'ses_1', 1, 5, ?)", (data,))
    db.commit()
    (more,) = follower.look()
    assert (more.id, more.whole, shown(more)) == ("ses_1", False, [("assistant", "More")])
    db.close()


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    path = make_files(tmp_path)
    path.write_text("{")
    with pytest.raises(InvalidArgument):
        READER.read(path, ReadPlace(), 1000)
    other = base(tmp_path) / "opencode.db"
    make_tables(other, "CREATE TABLE session (id TEXT)").close()
    with pytest.raises(InvalidArgument):
        READER.read(other, ReadPlace(), 1000)
    shutil.rmtree(base(tmp_path))
    assert list(READER.find(tmp_path)) == []


def test_parts_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    path = make_files(tmp_path)
    parts = base(tmp_path) / "storage" / "part" / "msg_2"
    odd = [7, {"type": 3}, {"type": "tool"}, {"type": "tool", "state": {"input": 3}}, {"type": "text", "time": 1}]
    for number, each in enumerate(odd):
        write_json(parts / f"prt_9{number}.json", each)
    (parts / "prt_99.json").write_bytes(b'{"type": "text", "te')
    assert shown(read_once(READER, path))[:5] == EXPECTED

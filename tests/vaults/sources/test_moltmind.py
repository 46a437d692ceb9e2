"""What MoltMind stored comes over whole, from each version of its file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.sources.sqlite_fixtures import insert, make_database, read_source
from vaults.errors import InvalidArgument
from vaults.sources.moltmind import SOURCE
from vaults.sources.source import SearchPlaces

FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE memories (id TEXT PRIMARY KEY, type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]', metadata TEXT NOT NULL DEFAULT '{}', embedding BLOB,
    tier TEXT NOT NULL DEFAULT 'hot', created_at TEXT NOT NULL, updated_at TEXT NOT NULL, accessed_at TEXT NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0, decay_score REAL NOT NULL DEFAULT 1.0);
CREATE TABLE handoffs (id TEXT PRIMARY KEY, goal TEXT NOT NULL, current_state TEXT NOT NULL, next_action TEXT NOT NULL,
    constraints TEXT NOT NULL DEFAULT '[]', known_unknowns TEXT NOT NULL DEFAULT '[]',
    artifacts TEXT NOT NULL DEFAULT '[]', stop_conditions TEXT NOT NULL DEFAULT '[]', session_id TEXT NOT NULL,
    created_at TEXT NOT NULL);
CREATE VIRTUAL TABLE memories_fts USING fts5(title, content, content=memories, content_rowid=rowid);
"""
LATEST = f"""{FIRST}
CREATE TABLE diagnostics (id TEXT PRIMARY KEY, tool_name TEXT NOT NULL, success INTEGER NOT NULL,
    latency_ms REAL NOT NULL, error_message TEXT, created_at TEXT NOT NULL, session_id TEXT);
CREATE TABLE feedback (id TEXT PRIMARY KEY, type TEXT NOT NULL, message TEXT NOT NULL, tool_name TEXT,
    created_at TEXT NOT NULL);
CREATE TABLE metrics (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE moltbook_auth (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, status TEXT NOT NULL DEFAULT 'active', summary TEXT, goal TEXT,
    actions_taken TEXT NOT NULL DEFAULT '[]', outcomes TEXT NOT NULL DEFAULT '[]', where_left_off TEXT,
    started_at TEXT NOT NULL, ended_at TEXT, metadata TEXT NOT NULL DEFAULT '{{}}', pid INTEGER, last_heartbeat TEXT);
CREATE TABLE token_estimates (session_id TEXT PRIMARY KEY, overhead_tokens INTEGER NOT NULL DEFAULT 0,
    updated_at TEXT NOT NULL);
CREATE TABLE moltbook_posts (id TEXT PRIMARY KEY, title_hash TEXT NOT NULL, content_hash TEXT NOT NULL, submolt TEXT,
    created_at TEXT NOT NULL);
CREATE TABLE session_events (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, event_type TEXT NOT NULL, resource_id TEXT,
    summary TEXT, created_at TEXT NOT NULL);
CREATE TABLE session_claims (resource TEXT PRIMARY KEY, session_id TEXT NOT NULL, pid INTEGER,
    claimed_at TEXT NOT NULL, description TEXT);
INSERT INTO meta VALUES ('schema_version', '7');
"""
NOON, LATER = "2026-02-18T12:00:00.000Z", "2026-02-18T13:00:00.000Z"


def memory(own: str, **change: Any) -> dict[str, Any]:
    times = {"created_at": NOON, "updated_at": LATER, "accessed_at": LATER}
    return {"id": own, "type": "raw", "title": "Tides", "content": "High water at noon", **times, **change}


SESSION = {
    "id": "s1",
    "status": "active",
    "goal": "Sail",
    "summary": "Sailed",
    "actions_taken": '["hoisted"]',
    "outcomes": '["arrived"]',
    "where_left_off": "pier 3",
    "started_at": NOON,
    "metadata": '{"crew": 2}',
    "last_heartbeat": LATER,
}


def test_memories_keep_what_they_say_and_how_they_stand(tmp_path: Path) -> None:
    kept = memory("m1", type="decision", tags='["sea", "sea"]', metadata='{"a": [1]}', tier="warm", access_count=3)
    gone = memory("m2", tier="archived", embedding=b"1234")
    path = make_database(tmp_path / "memory.db", LATEST, {"memories": [kept, gone]})
    found = read_source(SOURCE, path)
    assert found.line("moltmind:m1") == {
        "external_id": "moltmind:m1",
        "content": "High water at noon",
        "title": "Tides",
        "type": "decision",
        "tags": ["sea"],
        "metadata": {"a": [1]},
        "tier": "warm",
        "created_at": NOON,
        "updated_at": LATER,
        "accessed_at": LATER,
        "access_count": 3,
    }
    archived = found.line("moltmind:m2")
    assert (archived["archived_at"], archived["tier"]) == (LATER, "cold")
    assert "accessed_at" not in archived
    assert found.left == {"embeddings": 1}
    assert (found.total, found.unreadable) == (2, [])


def test_sessions_and_what_refers_to_them(tmp_path: Path) -> None:
    handoff = {
        "id": "h1", "goal": "Moor", "current_state": "At sea", "next_action": "Turn", "constraints": '["dusk"]',
        "known_unknowns": "[]", "artifacts": '["log.md"]', "stop_conditions": '["fog"]', "session_id": "s1",
        "created_at": LATER,
    }  # fmt: skip
    rows = {
        "sessions": [SESSION, {"id": "s2", "status": "completed", "started_at": LATER}],
        "handoffs": [handoff],
        "session_claims": [{"resource": "log.md", "session_id": "s1", "claimed_at": NOON, "description": "writing"}],
    }
    found = read_source(SOURCE, make_database(tmp_path / "memory.db", LATEST, rows))
    assert found.line("moltmind:session:s1") == {
        "kind": "session",
        "external_id": "moltmind:session:s1",
        "status": "paused",
        "goal": "Sail",
        "summary": "Sailed",
        "actions": ["hoisted"],
        "outcomes": ["arrived"],
        "where_left_off": "pier 3",
        "metadata": {"crew": 2},
        "started_at": NOON,
        "seen_at": LATER,
    }
    assert found.line("moltmind:session:s2")["status"] == "completed"
    assert found.line("moltmind:handoff:h1") == {
        "kind": "handoff",
        "external_id": "moltmind:handoff:h1",
        "session": "moltmind:session:s1",
        "goal": "Moor",
        "current_state": "At sea",
        "next_action": "Turn",
        "constraints": ["dusk"],
        "artifacts": ["log.md"],
        "stop_conditions": ["fog"],
        "created_at": LATER,
    }
    (claim,) = found.of("claim")
    assert (claim["resource"], claim["session"], claim["claimed_at"]) == ("log.md", "moltmind:session:s1", NOON)


def test_events_come_without_texts_and_each_call_once(tmp_path: Path) -> None:
    event = {"session_id": "s1", "summary": "a secret", "created_at": NOON}
    call = {"tool_name": "mm_store", "latency_ms": 1.5, "created_at": NOON}
    rows = {
        "session_events": [
            {"id": "e1", "event_type": "memory_stored", "resource_id": "m1", **event},
            {"id": "e2", "event_type": "tool_call", **event},
        ],
        "diagnostics": [
            {"id": "d0", "success": 1, "session_id": "s1", **call},
            {"id": "d1", "success": 1, "session_id": "s1", **call, "tool_name": "mm_recall"},
            {"id": "d2", "success": 0, "error_message": "a secret", **call},
        ],
        "feedback": [{"id": "f1", "type": "bug", "message": "It sank", "tool_name": "mm_store", "created_at": NOON}],
    }
    found = read_source(SOURCE, make_database(tmp_path / "memory.db", LATEST, rows))
    assert [
        (event["external_id"], event["type"], event.get("tool"), event.get("outcome")) for event in found.of("event")
    ] == [
        ("moltmind:event:e1", "memory_stored", "mm_store", "ok"),
        ("moltmind:call:d1", "tool_call", "mm_recall", "ok"),
        ("moltmind:call:d2", "tool_call", "mm_store", "internal"),
    ]
    assert "secret" not in json.dumps(found.lines)
    assert found.left == {"error messages of tool calls": 1}
    (feedback,) = found.of("feedback")
    assert (feedback["type"], feedback["message"], feedback["tool"]) == ("bug", "It sank", "mm_store")


def test_a_call_that_wrote_is_one_event_with_its_memory_and_time(tmp_path: Path) -> None:
    """As 0.9.0 logs each: what it did among the session's events, and how long it took among the diagnostics."""
    logged = {"session_id": "s1", "event_type": "memory_stored", "resource_id": "m1"}
    call = {"tool_name": "mm_store", "success": 1, "session_id": "s1"}
    rows = {
        "sessions": [SESSION],
        "memories": [memory("m1")],
        "session_events": [
            {"id": "e1", "summary": "Stored raw memory: Tides", "created_at": LATER, **logged},
            {"id": "e2", "summary": "Stored raw memory: Tides [FAILED]", "created_at": LATER, **logged},
        ],
        "diagnostics": [
            {"id": "before sessions had events", "latency_ms": 9, "created_at": NOON, **call},
            {"id": "d1", "latency_ms": 1.5, "created_at": LATER, **call},
        ],
    }
    found = read_source(SOURCE, make_database(tmp_path / "memory.db", LATEST, rows))
    told = ("external_id", "outcome", "ms", "resource")
    assert [tuple(map(event.get, told)) for event in found.of("event")] == [
        ("moltmind:event:e1", "ok", 1.5, "moltmind:m1"),
        ("moltmind:event:e2", "internal", 1.5, "moltmind:m1"),
        ("moltmind:call:before sessions had events", "ok", 9, None),
    ]


def test_the_first_version_of_the_file_is_read(tmp_path: Path) -> None:
    path = make_database(tmp_path / "memory.db", FIRST, {"memories": [memory("m1")]})
    assert [line["external_id"] for line in read_source(SOURCE, path).lines] == ["moltmind:m1"]


def test_what_is_in_the_journal_of_a_running_server_is_read(tmp_path: Path) -> None:
    path = make_database(tmp_path / "memory.db", LATEST)
    with sqlite3.connect(path) as db:
        insert(db, {"memories": [memory("m1")]})
        assert [line["external_id"] for line in read_source(SOURCE, path).lines] == ["moltmind:m1"]
    db.close()


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_its_program_may_hold_a_lock_and_be_writing(tmp_path: Path, begin: str, journal: str) -> None:
    path = make_database(tmp_path / "memory.db", LATEST, {"memories": [memory("m1")]})
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute(f"PRAGMA journal_mode = {journal}")
        insert(owner, {"memories": [memory("m2")]})
        owner.execute(begin)
        owner.execute("UPDATE memories SET content = 'half said'")
        found = read_source(SOURCE, path)
        assert {line["external_id"]: line["content"] for line in found.lines} == {
            "moltmind:m1": "High water at noon",
            "moltmind:m2": "High water at noon",
        }
        owner.execute("ROLLBACK")


def test_one_bad_row_stops_nothing(tmp_path: Path) -> None:
    rows = [
        memory("m1", metadata="not json", tags="[1, {"),
        memory("m2", content=" ", title=""),
        memory("m3", created_at="yesterday", type="dream", access_count="many"),
        memory("m4", content="x" * 60_000),
    ]
    sessions = [{**SESSION, "started_at": "never"}, {**SESSION, "id": "s2"}]
    found = read_source(SOURCE, make_database(tmp_path / "memory.db", LATEST, {"memories": rows, "sessions": sessions}))
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("sessions 1", "has no time"),
        ("memories 2", "has neither content nor title"),
    ]
    assert '"id": "m2"' in (found.unreadable[1].raw or "")
    ids = [line["external_id"] for line in found.of("memory")]
    assert ids == ["moltmind:m1", "moltmind:m3", "moltmind:m4", "moltmind:m4#2"]
    assert found.line("moltmind:m3")["metadata"] == {"original_type": "dream"}


def test_other_files_are_refused(tmp_path: Path) -> None:
    newer = make_database(tmp_path / "a.db", LATEST.replace("'7'", "'8'"))
    with pytest.raises(InvalidArgument, match="newer MoltMind: its schema is 8"), SOURCE.open(newer):
        pass
    other = make_database(tmp_path / "b.db", "CREATE TABLE memories (id TEXT, content TEXT)")
    with pytest.raises(InvalidArgument, match="none of MoltMind"), SOURCE.open(other):
        pass
    with pytest.raises(InvalidArgument, match=r"holds no memory\.db"), SOURCE.open(tmp_path):
        pass


def test_it_is_found_in_the_project_and_in_the_home_folder(tmp_path: Path) -> None:
    places = SearchPlaces(tmp_path / "home", tmp_path / "project")
    paths = [make_database(folder / ".moltmind" / "memory.db", LATEST) for folder in (places.current, places.home)]
    assert list(SOURCE.find(places)) == paths
    for given in (places.home, places.home / ".moltmind", paths[1]):
        with SOURCE.open(given) as reading:
            assert reading.total == 0

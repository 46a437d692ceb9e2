"""What Flywheel keeps beside an Obsidian vault comes over: memories, sessions, corrections, judgements, policies.

Also of vaults/sources/flywheel_tables.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.vaults.sources.sqlite_fixtures import make_database, read_source
from vaults.domain.policies.definitions import parse_policy
from vaults.errors import InvalidArgument
from vaults.sources.flywheel import SOURCE
from vaults.sources.source import SearchPlaces

FIRST = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT DEFAULT (datetime('now')));
INSERT INTO schema_version (version) VALUES (4);
CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT NOT NULL, name_lower TEXT NOT NULL, path TEXT NOT NULL,
    category TEXT NOT NULL, aliases_json TEXT, hub_score INTEGER DEFAULT 0);
CREATE TABLE wikilink_feedback (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT NOT NULL, context TEXT NOT NULL,
    note_path TEXT NOT NULL, correct INTEGER NOT NULL, created_at TEXT DEFAULT (datetime('now')));
CREATE TABLE wikilink_suppressions (entity TEXT PRIMARY KEY, false_positive_rate REAL NOT NULL,
    updated_at TEXT DEFAULT (datetime('now')));
"""
LATEST = f"""{FIRST}
INSERT INTO schema_version (version) VALUES (44);
ALTER TABLE wikilink_feedback ADD COLUMN confidence REAL NOT NULL DEFAULT 1.0;
ALTER TABLE wikilink_feedback ADD COLUMN matched_term TEXT;
CREATE TABLE wikilink_suppression_overrides (entity TEXT PRIMARY KEY COLLATE NOCASE, created_at TEXT);
CREATE TABLE wikilink_applications (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT NOT NULL,
    note_path TEXT NOT NULL, matched_term TEXT, applied_at TEXT DEFAULT (datetime('now')),
    status TEXT DEFAULT 'applied', source TEXT NOT NULL DEFAULT 'tool');
CREATE TABLE merge_dismissals (pair_key TEXT PRIMARY KEY, source_path TEXT NOT NULL, target_path TEXT NOT NULL,
    source_name TEXT NOT NULL, target_name TEXT NOT NULL, reason TEXT NOT NULL, dismissed_at TEXT);
CREATE TABLE corrections (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT, note_path TEXT,
    correction_type TEXT NOT NULL, description TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'user',
    status TEXT DEFAULT 'pending', created_at TEXT DEFAULT (datetime('now')), resolved_at TEXT);
CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value TEXT NOT NULL,
    memory_type TEXT NOT NULL, entity TEXT, entities_json TEXT, source_agent_id TEXT, source_session_id TEXT,
    confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    accessed_at INTEGER NOT NULL, ttl_days INTEGER, superseded_by INTEGER REFERENCES memories(id),
    visibility TEXT NOT NULL DEFAULT 'shared', owner_scope TEXT NOT NULL DEFAULT 'global', thread_id TEXT,
    supersede_reason TEXT);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL UNIQUE,
    summary TEXT NOT NULL, topics_json TEXT, notes_modified_json TEXT, agent_id TEXT, started_at INTEGER,
    ended_at INTEGER NOT NULL, tool_count INTEGER);
CREATE TABLE tool_selection_feedback (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp INTEGER NOT NULL,
    tool_invocation_id INTEGER, tool_name TEXT NOT NULL, query_context TEXT, expected_tool TEXT,
    expected_category TEXT, correct INTEGER, source TEXT NOT NULL DEFAULT 'explicit', session_id TEXT);
CREATE TABLE prospect_summary (term TEXT PRIMARY KEY, display_name TEXT NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE prospect_feedback (id INTEGER PRIMARY KEY AUTOINCREMENT, term TEXT NOT NULL, action TEXT NOT NULL,
    entity_path TEXT, note_path TEXT, reason TEXT, created_at INTEGER NOT NULL);
CREATE TABLE note_links (note_path TEXT NOT NULL, target TEXT NOT NULL, weight REAL NOT NULL DEFAULT 1.0);
"""
MS = 1782086400000  # 2026-06-22T00:00:00Z
DAY, AT = "2026-06-22 00:00:00", "2026-06-22T00:00:00.000Z"


def memory(key: str, **change: Any) -> dict[str, Any]:
    times = {"created_at": MS, "updated_at": MS + 1000, "accessed_at": MS + 2000}
    return {"key": key, "value": f"Value of {key}", "memory_type": "fact", **times, **change}


def make_vault(folder: Path, schema: str = LATEST, **rows: list[dict[str, Any]]) -> Path:
    make_database(folder / ".flywheel" / "state.db", schema, rows)
    return folder


def test_a_memory_keeps_its_key_and_what_is_known_of_it(tmp_path: Path) -> None:
    row = memory("user.tea", memory_type="preference", entity="Ann", entities_json='["Ann", "Tea"]', thread_id="T-1")
    row |= {"source_agent_id": "claude", "source_session_id": "s1", "confidence": 0.9, "ttl_days": 30}
    own = memory("user.tea", visibility="private", owner_scope="codex", ttl_days=0)
    found = read_source(SOURCE, make_vault(tmp_path, memories=[row, own]))
    assert found.line("flywheel:user.tea") == {
        "external_id": "flywheel:user.tea",
        "content": "Value of user.tea",
        "title": "user.tea",
        "type": "preference",
        "entity": "Ann",
        "subjects": [["mentions", "entity", "Ann"], ["mentions", "entity", "Tea"]],
        "author": "claude",
        "thread": "T-1",
        "key": "user.tea",
        "metadata": {"key": "user.tea", "session": "s1"},
        "confidence": 0.9,
        "ttl_days": 30,
        "created_at": AT,
        "updated_at": "2026-06-22T00:00:01.000Z",
        "accessed_at": "2026-06-22T00:00:02.000Z",
    }
    private = found.line("flywheel:codex/user.tea")
    assert private["visibility"] == "private"
    assert "ttl_days" not in private


def test_superseded_memories_are_chains_or_closed(tmp_path: Path) -> None:
    rows = [
        memory("a", superseded_by=2),
        memory("b"),
        memory("c", superseded_by=3, supersede_reason="thread is done"),
        memory("d", superseded_by=1),
    ]
    found = read_source(SOURCE, make_vault(tmp_path, memories=rows))
    assert found.line("flywheel:b")["supersedes"] == "flywheel:a"
    assert "archived_at" not in found.line("flywheel:a")
    assert found.line("flywheel:c")["archived_reason"] == "thread is done"
    assert found.line("flywheel:d")["archived_reason"] == "superseded"
    (link,) = found.of("link")
    assert (link["from"], link["to"]) == ("flywheel:a", "flywheel:d")


def test_a_key_that_stands_there_twice_is_two_memories(tmp_path: Path) -> None:
    schema = LATEST.replace("owner_scope TEXT NOT NULL DEFAULT 'global',", "")
    found = read_source(
        SOURCE, make_vault(tmp_path, schema, memories=[memory("a"), memory("a"), memory("b", value=" ")])
    )
    assert [line["external_id"] for line in found.lines] == ["flywheel:a", "flywheel:a#2"]
    assert [each.reason for each in found.unreadable] == ["has no value"]


def test_sessions_and_judgements_of_tools(tmp_path: Path) -> None:
    session = {
        "session_id": "s1",
        "summary": "x" * 3000,
        "topics_json": '["tea"]',
        "agent_id": "claude",
        "ended_at": MS,
    }
    judged = {"timestamp": MS, "tool_name": "search", "query_context": "find tea"}
    judgements = [
        {"correct": 0, "expected_tool": "read", "session_id": "s1", **judged},
        {"correct": 1, "session_id": "gone", **judged},
        {"correct": None, **judged},
    ]
    found = read_source(SOURCE, make_vault(tmp_path, session_summaries=[session], tool_selection_feedback=judgements))
    line = found.line("flywheel:session:s1")
    assert (line["status"], line["started_at"], line["ended_at"], line["who"]) == ("completed", AT, AT, "claude")
    assert len(line["summary"]) == 2000
    assert line["metadata"] == {"topics": ["tea"], "summary": "x" * 3000}
    assert [(each["type"], each["message"], each.get("session")) for each in found.of("feedback")] == [
        ("wrong_tool", "read was expected. find tea", "flywheel:session:s1"),
        ("right_tool", "find tea", None),
    ]
    assert found.left == {"judgements of tools without a verdict": 1}


def test_corrections_keep_how_they_stand(tmp_path: Path) -> None:
    said = {"entity": "Ann", "note_path": "people/ann.md", "description": "She left", "created_at": DAY}
    rows = [
        {"correction_type": "general", **said},
        {"correction_type": "wrong_link", "status": "applied", "resolved_at": DAY, **said},
        {"correction_type": "wrong_category", "status": "dismissed", **said, "note_path": None},
    ]
    found = read_source(SOURCE, make_vault(tmp_path, corrections=rows))
    assert [
        (each["about"], each["subject"], each["wrong"], each["instead"], each["status"], each.get("resolved_at"))
        for each in found.of("correction")
    ] == [
        ("note", "people/ann.md", "Ann in people/ann.md", "She left", "open", None),
        ("link", "Ann", "wrong link: Ann in people/ann.md", "She left", "resolved", AT),
        ("entity", "Ann", "wrong category: Ann", "She left", "undone", None),
    ]


def test_what_people_did_with_links(tmp_path: Path) -> None:
    said = {"entity": "Ann", "note_path": "a.md", "created_at": DAY}
    contexts = [("", 1), ("", 0), ("implicit:removed", 0), ("implicit:survived", 1), ("implicit:manual_added", 1)]
    contexts += [("correction:wrong_link", 0)]
    rows: dict[str, list[dict[str, Any]]] = {
        "wikilink_feedback": [{"context": context, "correct": correct, **said} for context, correct in contexts],
        "wikilink_suppressions": [
            {"entity": name, "false_positive_rate": 1, "updated_at": DAY} for name in ("Tea", "It")
        ],
        "wikilink_suppression_overrides": [{"entity": "it", "created_at": DAY}],
        "wikilink_applications": [
            {"entity": "Ann", "note_path": "a.md", "matched_term": "ann", "applied_at": DAY, "source": "proactive"},
            {"entity": "Bob", "note_path": "a.md", "applied_at": DAY, "status": "removed"},
        ],
        "note_links": [{"note_path": "a.md", "target": "ann"}],
    }
    found = read_source(SOURCE, make_vault(tmp_path, **rows))
    assert [each["verdict"] for each in found.of("link_feedback")] == [
        "accepted", "rejected", "removed", "kept", "accepted", "rejected",
    ]  # fmt: skip
    assert [(each["entity"], each["folder"], each["at"]) for each in found.of("link_suppression")] == [("Tea", "", AT)]
    assert [(each["term"], each["source"], each["state"]) for each in found.of("link_application")] == [
        ("ann", "proactive", "standing"),
        ("Bob", "auto", "removed"),
    ]
    assert found.left == {"suppressions that were lifted": 1, "weights of links": 1}


def test_proposals_that_were_turned_down_stay_so(tmp_path: Path) -> None:
    pair = {"pair_key": "a::b", "source_path": "a.md", "target_path": "b.md", "source_name": "A", "target_name": "B"}
    prospect = {"term": "teapot", "created_at": MS}
    rows = {
        "merge_dismissals": [{"reason": "no", "dismissed_at": DAY, **pair}],
        "prospect_summary": [{"term": "teapot", "display_name": "Teapot", "updated_at": MS}],
        "prospect_feedback": [{"action": "reject", **prospect}, {"action": "create_entity", **prospect}],
    }
    found = read_source(SOURCE, make_vault(tmp_path, **rows))
    assert [(each["about"], each["names"]) for each in found.of("dismissal")] == [
        ("merge", ["A", "B"]),
        ("prospect", ["Teapot"]),
    ]
    assert found.left == {"prospects that became notes or aliases": 1}


def test_policies_are_said_in_our_words_or_reported(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault")
    good = "version: '1.0'\nname: p\ndescription: d\nsteps: [{id: s, tool: vault_delete_note, params: {path: a.md}}]\n"
    for place, text in (
        (".flywheel/policies/good.yaml", good),
        (".flywheel/policies/search.yml", good.replace("vault_delete_note", "vault_search")),
        (".flywheel/policies/notes.md", "x"),
        (".claude/policies/good.yaml", good.replace("name: p", "name: older")),
        (".claude/policies/long.yaml", "#" * 300_000),
    ):
        (vault / place).parent.mkdir(parents=True, exist_ok=True)
        (vault / place).write_text(text)
    (tmp_path / "outside.yaml").write_text(good)
    (vault / ".flywheel" / "policies" / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    found = read_source(SOURCE, vault)
    (line,) = found.of("policy")
    assert (line["external_id"], line["name"]) == ("flywheel:policy:good", "p")
    assert parse_policy(line["yaml"].encode()).steps[0].tool == "note_delete"
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("policy search.yml", "steps.s: the tool vault_search has no counterpart in a policy"),
        ("policy long.yaml", "has more than 256 KB"),
    ]
    assert found.unreadable[0].raw is not None
    assert found.total == 3


def test_an_early_database_is_read(tmp_path: Path) -> None:
    rows = [{"entity": "Ann", "context": "", "note_path": "a.md", "correct": 1, "created_at": DAY}]
    (line,) = read_source(SOURCE, make_vault(tmp_path, FIRST, wikilink_feedback=rows)).lines
    assert (line["kind"], line["entity"], line["at"]) == ("link_feedback", "Ann", AT)


def test_other_files_are_refused(tmp_path: Path) -> None:
    newer = make_vault(tmp_path / "a", LATEST.replace("(44)", "(45)"))
    other = make_database(tmp_path / "b" / "state.db", "CREATE TABLE schema_version (version INTEGER)")
    (tmp_path / "c").mkdir()
    for path, reason in (
        (newer, "its schema is 45, 44 is known"),
        (other, "none of Flywheel"),
        (tmp_path / "c", "holds no .flywheel/state.db"),
    ):
        with pytest.raises(InvalidArgument, match=reason), SOURCE.open(path):
            pass


def test_vaults_are_found_below_the_home_folder(tmp_path: Path) -> None:
    current = make_vault(tmp_path / "current")
    near, below = make_vault(tmp_path / "home" / "notes"), make_vault(tmp_path / "home" / "Documents" / "vault")
    found = list(SOURCE.find(SearchPlaces(tmp_path / "home", current)))
    assert found == [vault / ".flywheel" / "state.db" for vault in (current, near, below)]
    for path in (found[0], found[0].parent, current):
        assert read_source(SOURCE, path).total == 0

"""What mcp-memory-service stored comes over whole, with its types, graph and beliefs.

Also of vaults/sources/mcp_memory_lines.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.vaults.sources.sqlite_fixtures import make_database, read_source
from vaults.errors import InvalidArgument
from vaults.sources.mcp_memory_service import SOURCE
from vaults.sources.source import SearchPlaces

FIRST = """
CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
    tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT,
    updated_at_iso TEXT);
"""
LATEST = f"""{FIRST}
CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO metadata VALUES ('schema_version', '19'), ('distance_metric', 'cosine');
ALTER TABLE memories ADD COLUMN deleted_at REAL DEFAULT NULL;
ALTER TABLE memories ADD COLUMN store TEXT DEFAULT 'default';
ALTER TABLE memories ADD COLUMN parent_id TEXT;
ALTER TABLE memories ADD COLUMN version INTEGER DEFAULT 1;
ALTER TABLE memories ADD COLUMN confidence REAL DEFAULT 1.0;
ALTER TABLE memories ADD COLUMN last_accessed INTEGER;
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
CREATE TABLE memory_embeddings_rowids (rowid INTEGER PRIMARY KEY AUTOINCREMENT, id, chunk_id INTEGER);
CREATE TABLE memory_graph (source_hash TEXT NOT NULL, target_hash TEXT NOT NULL, similarity REAL NOT NULL,
    connection_types TEXT NOT NULL, metadata TEXT, created_at REAL NOT NULL, relationship_type TEXT DEFAULT 'related',
    PRIMARY KEY (source_hash, target_hash));
CREATE TABLE beliefs (id INTEGER PRIMARY KEY AUTOINCREMENT, belief_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
    confidence REAL NOT NULL DEFAULT 0.5, status TEXT NOT NULL DEFAULT 'candidate', created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, derived_from TEXT NOT NULL DEFAULT '[]', contradicted_by TEXT NOT NULL DEFAULT '[]',
    metadata TEXT DEFAULT '{{}}');
CREATE TABLE sync_events (seq INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT NOT NULL, payload TEXT NOT NULL);
"""
A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def memory(own: str, **change: Any) -> dict[str, Any]:
    return {"content_hash": own, "content": f"Content {own[0]}", "created_at": 1795394786.434, **change}


def edge(start: str, end: str, relation: str) -> dict[str, Any]:
    kinds = {"similarity": 0.7, "connection_types": '["semantic"]', "created_at": 1795394786.5}
    return {"source_hash": start, "target_hash": end, "relationship_type": relation, **kinds}


def external(own: str) -> str:
    return f"mcp-memory-service:{own}"


def test_a_memory_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    known = '{"quality_score": 0.8, "agent_id": "claude", "access_count": 3, "last_accessed_at": 1795394800.0}'
    row = memory(A, tags="db,project:boats,untagged", memory_type="Decision", metadata=known, store="work")
    row |= {"updated_at": 1795394790.0, "confidence": 0.6}
    found = read_source(SOURCE, make_database(tmp_path / "sqlite_vec.db", LATEST, {"memories": [row]}))
    assert found.lines == [
        {
            "external_id": external(A),
            "content": "Content a",
            "type": "decision",
            "tags": ["db", "project:boats"],
            "metadata": {"quality_score": 0.8},
            "author": "claude",
            "workspace": "work",
            "confidence": 0.6,
            "access_count": 3,
            "accessed_at": "2026-11-23T00:46:40.000Z",
            "created_at": "2026-11-23T00:46:26.434Z",
            "updated_at": "2026-11-23T00:46:30.000Z",
        }
    ]
    assert found.unreadable == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("bug", "error"),
        ("gotcha", "learning"),
        ("sprint_goal", "plan"),
        ("ceremony", "raw"),
        (None, "raw"),
        ("", "raw"),
    ],
)
def test_types_become_ours_and_stay_known(tmp_path: Path, theirs: str | None, ours: str) -> None:
    rows = {"memories": [memory(A, memory_type=theirs)]}
    (line,) = read_source(SOURCE, make_database(tmp_path / "sqlite_vec.db", LATEST, rows)).lines
    assert (line["type"], line.get("metadata", {}).get("original_type")) == (ours, theirs or None)


def test_pieces_of_a_long_text_and_of_a_conversation_stay_together(tmp_path: Path) -> None:
    piece = memory(A, metadata='{"chunk_index": 1, "total_chunks": 2, "original_hash": "ff"}')
    said = memory(B, metadata='{"conversation_id": "talk 7"}')
    found = read_source(SOURCE, make_database(tmp_path / "sqlite_vec.db", LATEST, {"memories": [piece, said]}))
    assert [(line["parent"], line.get("position")) for line in found.lines] == [(external("ff"), 1), ("talk 7", None)]


def test_the_graph_becomes_links_and_subjects(tmp_path: Path) -> None:
    edges = [
        edge(A, B, "related"),
        edge(B, A, "related"),
        edge(B, C, "fixes"),
        edge(A, "SQLite", "has_entity"),
        edge(A, "d" * 64, "causes"),
    ]
    rows = {"memories": [memory(A), memory(B), memory(C)], "memory_graph": edges}
    found = read_source(SOURCE, make_database(tmp_path / "sqlite_vec.db", LATEST, rows))
    assert found.line(external(A))["subjects"] == [["mentions", "entity", "SQLite"]]
    assert [(link["from"], link["relation"], link["to"]) for link in found.of("link")] == [
        (external(A), "related", external(B)),
        (external(B), "fixes", external(C)),
    ]
    assert found.left == {"links to what is gone": 1}


def test_versions_stay_a_chain_and_deleted_ones_stay_behind(tmp_path: Path) -> None:
    rows = [
        memory(A, superseded_by=B, metadata=f'{{"superseded_by": "{B}"}}'),
        memory(B, parent_id=A, version=2),
        memory(C, deleted_at=1795394786.5),
        memory("d" * 64, superseded_by=C),
    ]
    path = make_database(tmp_path / "sqlite_vec.db", LATEST, {"memories": rows, "memory_graph": [edge(A, C, "causes")]})
    found = read_source(SOURCE, path)
    assert [line["external_id"] for line in found.lines] == [external(A), external(B), external("d" * 64)]
    assert found.line(external(B))["supersedes"] == external(A)
    assert "archived_at" not in found.line(external(A))
    assert found.line(external("d" * 64))["archived_reason"] == "superseded"
    assert found.left == {"deleted memories": 1, "links to what is gone": 1}


def test_beliefs_are_facts_with_their_reasons(tmp_path: Path) -> None:
    stamps = {"created_at": "2026-11-23T00:46:26+00:00", "updated_at": "2026-11-23T00:46:27+00:00"}
    believed = {
        "belief_hash": "ff", "content": "It floats", "status": "active", "derived_from": f'["{A}", "gone"]',
        "contradicted_by": f'["{B}"]', **stamps,
    }  # fmt: skip
    over = {"belief_hash": "ee", "content": "It sinks", "status": "superseded", **stamps}
    rows = {"memories": [memory(A), memory(B)], "beliefs": [believed, over]}
    found = read_source(SOURCE, make_database(tmp_path / "sqlite_vec.db", LATEST, rows))
    line, own = found.line(external("belief:ff")), external("belief:ff")
    assert (line["type"], line["confidence"], line["metadata"]) == ("fact", 0.5, {"status": "active"})
    assert line["links"] == [[own, "derived_from", external(A)], [external(B), "contradicts", own]]
    assert found.line(external("belief:ee"))["archived_at"] == "2026-11-23T00:46:27.000Z"


def test_the_first_version_of_the_file_is_read(tmp_path: Path) -> None:
    row = {"content_hash": A, "content": "c", "tags": '["a", "b"]', "created_at_iso": "2025-01-02T03:04:05Z"}
    bad = {"content_hash": B, "content": " "}
    found = read_source(SOURCE, make_database(tmp_path / "sqlite_vec.db", FIRST, {"memories": [row, bad]}))
    (line,) = found.lines
    assert (line["tags"], line["created_at"]) == (["a", "b"], "2025-01-02T03:04:05.000Z")
    assert [each.reason for each in found.unreadable] == ["has no content"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    newer = make_database(tmp_path / "a.db", LATEST.replace("'19'", "'20'"))
    other = make_database(tmp_path / "b.db", "CREATE TABLE memories (content TEXT)")
    for path, reason in ((newer, "its schema is 20, 19 is known"), (other, "none of mcp-memory-service")):
        with pytest.raises(InvalidArgument, match=reason), SOURCE.open(path):
            pass
    with pytest.raises(InvalidArgument, match=r"holds no sqlite_vec\.db"), SOURCE.open(tmp_path):
        pass


def test_it_is_found_where_its_program_keeps_it(tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "share" / "mcp-memory"
    path = make_database(folder / "sqlite_vec.db", LATEST, {"memories": [memory(A)]})
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [path]
    assert len(read_source(SOURCE, folder).lines) == 1

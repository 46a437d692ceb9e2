"""What nano-brain harvested and remembered comes over once, from its files and its databases.

Also of vaults/sources/nano_brain_tables.py.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.sources.sqlite_fixtures import make_database, read_source
from vaults.errors import InvalidArgument
from vaults.sources import nano_brain
from vaults.sources.nano_brain import SOURCE
from vaults.sources.source import SearchPlaces

FIRST = """
CREATE TABLE content (hash TEXT PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, path TEXT NOT NULL,
    title TEXT NOT NULL, hash TEXT NOT NULL, agent TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')),
    modified_at TEXT NOT NULL DEFAULT (datetime('now')), active INTEGER NOT NULL DEFAULT 1,
    FOREIGN KEY (hash) REFERENCES content(hash), UNIQUE(collection, path));
CREATE TABLE content_vectors (hash TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0, model TEXT NOT NULL);
CREATE TABLE llm_cache (hash TEXT PRIMARY KEY, result TEXT NOT NULL);
ALTER TABLE documents ADD COLUMN project_hash TEXT DEFAULT 'global';
"""
LATEST = f"""{FIRST}
ALTER TABLE documents ADD COLUMN superseded_by INTEGER DEFAULT NULL;
ALTER TABLE documents ADD COLUMN access_count INTEGER DEFAULT 0;
ALTER TABLE documents ADD COLUMN last_accessed_at TEXT;
CREATE TABLE document_tags (document_id INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(document_id, tag));
CREATE TABLE consolidations (id INTEGER PRIMARY KEY AUTOINCREMENT, source_ids TEXT NOT NULL, summary TEXT NOT NULL,
    insight TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 0.0, created_at TEXT NOT NULL);
PRAGMA user_version = 9;
"""
DAY = "\n## 2026-02-23T10:00:00.000Z\n\n**Workspace:** boats (aaaaaaaaaaaa)\n\nWe chose SQLite\n"
SESSION = (
    '---\nsession: ses_1\nagent: build\ndate: "2026-02-23"\n---\n\n## User\n\nHello\n\n## Assistant (build)\n\nHi\n'
)
NOON = "2026-02-23T12:00:00.000Z"


def make_rows(*documents: tuple[str, str, str], **change: Any) -> dict[str, list[dict[str, Any]]]:
    """Documents by collection, path and text, with what they hold."""
    rows: dict[str, list[dict[str, Any]]] = {"content": [], "documents": []}
    for collection, path, body in documents:
        own = hashlib.sha256(f"{path}{body}".encode()).hexdigest()
        rows["content"].append({"hash": own, "body": body})
        place = {"collection": collection, "path": path, "title": "T", "hash": own}
        rows["documents"].append({**place, "created_at": NOON, "modified_at": NOON, **change})
    return rows


def make_home(home: Path) -> Path:
    for place, text in (("memory/2026-02-23.md", DAY), ("sessions/aaaaaaaaaaaa/2026-02-23-fix.md", SESSION)):
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(text)
    return home


def test_files_are_read_and_what_indexes_them_is_not_read_again(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    indexed = make_rows(
        ("memory", "/home/ann/.nano-brain/memory/2026-02-23.md", DAY),
        ("sessions", "/home/ann/.nano-brain/sessions/aaaaaaaaaaaa/2026-02-23-fix.md", SESSION),
        (
            "sessions",
            "/home/ann/.nano-brain/sessions/aaaaaaaaaaaa/2026-02-22-gone.md",
            SESSION.replace("ses_1", "ses_0"),
        ),
        ("memory", "/home/ann/.nano-brain/memory/2026-02-22.md", DAY.replace("-23T", "-22T")),
        ("docs", "/home/ann/docs/a.md", "# Doc"),
    )
    for name in ("boats-aaaaaaaaaaaa", "ships-bbbbbbbbbbbb"):
        make_database(home / "data" / f"{name}.sqlite", LATEST, indexed)
    (home / "config.yml").write_text("collections:\n  docs: {path: /home/ann/docs}\n  memory: {path: /x}\n")
    found = read_source(SOURCE, home)
    assert [line["external_id"] for line in found.lines] == [
        "nano-brain:memory:2026-02-23:2026-02-23T10:00:00.000Z",
        "nano-brain:session:ses_1",
        "nano-brain:session:ses_0",
        "nano-brain:memory:2026-02-22:2026-02-22T10:00:00.000Z",
        "nano-brain:docs:/home/ann/docs/a.md",
    ]
    assert found.left == {"collections in config.yml": 2}
    assert found.unreadable == []


def test_documents_of_a_collection_keep_workspace_and_text(tmp_path: Path) -> None:
    rows = make_rows(("docs", "/home/ann/docs/a.md", "# Doc"), project_hash="aaaaaaaaaaaa", agent="build")
    rows["document_tags"] = [{"document_id": 1, "tag": "sea"}]
    found = read_source(SOURCE, make_database(tmp_path / "x.sqlite", LATEST, rows))
    assert found.lines == [
        {
            "kind": "document",
            "external_id": "nano-brain:docs:/home/ann/docs/a.md",
            "format": "markdown",
            "title": "T",
            "uri": "/home/ann/docs/a.md",
            "workspace": "aaaaaaaaaaaa",
            "collection": "docs",
            "author": "build",
            "created_at": NOON,
            "modified_at": NOON,
            "metadata": {"tags": ["sea"]},
            "parts": [{"text": "# Doc"}],
        }
    ]


def test_facts_of_sessions_and_their_summaries_are_memories(tmp_path: Path) -> None:
    rows = make_rows(("memory", "auto:extracted-fact:0123", "Prefers tea"), project_hash="aaaaaaaaaaaa")
    old = make_rows(("memory", "auto:extracted-fact:4567", "Sails alone"), superseded_by=0)
    rows["content"] += old["content"]
    rows["document_tags"] = [{"document_id": 1, "tag": "category:preference"}, {"document_id": 1, "tag": "x"}]
    rows["consolidations"] = [
        {"source_ids": "[1]", "summary": "Tea", "insight": "Always", "confidence": 0.7, "created_at": NOON},
        {"source_ids": "[1]", "summary": "", "insight": " ", "created_at": NOON},
    ]
    path = make_database(tmp_path / "x.sqlite", LATEST, {**rows, "documents": rows["documents"]})
    path = make_database(tmp_path / "x.sqlite", "", {"documents": old["documents"]})
    found = read_source(SOURCE, path)
    fact, over, summary = found.lines
    assert (fact["external_id"], fact["type"], fact["tags"], fact["workspace"]) == (
        "nano-brain:fact:0123", "preference", ["category:preference", "x"], "aaaaaaaaaaaa",
    )  # fmt: skip
    assert (over["type"], over["archived_at"], over["archived_reason"]) == ("fact", NOON, "superseded")
    assert (summary["type"], summary["content"], summary["confidence"]) == ("summary", "Tea\n\nAlways", 0.7)
    assert [each.place for each in found.unreadable] == ["consolidations 2"]


def test_what_is_indexed_from_code_or_gone_stays_behind(tmp_path: Path) -> None:
    rows = make_rows(("codebase", "/home/ann/a.py", "x = 1"), ("docs", "/b.md", " "))
    gone = make_rows(("docs", "/a.md", "x"), active=0)
    rows = {name: rows[name] + gone[name] for name in rows}
    rows["content_vectors"] = [{"hash": "x", "model": "m"}]
    found = read_source(SOURCE, make_database(tmp_path / "x.sqlite", FIRST, rows))
    assert found.lines == []
    assert found.left == {"indexed code files": 1, "documents that are gone": 1, "embeddings": 1}
    assert [each.reason for each in found.unreadable] == ["has no text"]


def test_a_memory_file_without_entries_is_a_note(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    (home / "MEMORY.md").write_text("# Mine\n\nAlways test.\n")
    os.utime(home / "MEMORY.md", (1771848000, 1771848000))
    assert read_source(SOURCE, home).of("note") == [
        {
            "kind": "note",
            "external_id": "nano-brain:note:MEMORY.md",
            "content": "# Mine\n\nAlways test.\n",
            "path": "nano-brain/MEMORY.md",
            "modified_at": NOON,
        }
    ]


def test_links_hidden_folders_and_long_files_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_home(tmp_path / "home")
    (tmp_path / "outside.md").write_text(DAY)
    (home / "memory" / "2026-01-01.md").symlink_to(tmp_path / "outside.md")
    (home / "sessions" / "linked").symlink_to(tmp_path)
    (home / "sessions" / ".trash").mkdir()
    (home / "sessions" / ".trash" / "a.md").write_text(SESSION)
    (home / "memory" / "long.md").write_text("x" * 2000)
    monkeypatch.setattr(nano_brain, "MAX_FILE", 1000)
    found = read_source(SOURCE, home)
    assert len(found.lines) == 2
    assert [each.place for each in found.unreadable] == ["memory/long.md"]


def test_a_database_that_cannot_be_read_leaves_the_files(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    (home / "data").mkdir()
    (home / "data" / "x.sqlite").write_bytes(b"no database")
    found = read_source(SOURCE, home)
    assert len(found.lines) == 2
    (bad,) = found.unreadable
    assert bad.place == "x.sqlite"
    assert "no SQLite file" in bad.reason


def test_other_files_are_refused(tmp_path: Path) -> None:
    newer = make_database(tmp_path / "a.sqlite", LATEST.replace("= 9", "= 10"))
    other = make_database(tmp_path / "b.sqlite", "CREATE TABLE documents (path TEXT)")
    (tmp_path / "empty").mkdir()
    for path, reason in (
        (newer, "its schema is 10, 9 is known"),
        (other, "none of nano-brain"),
        (tmp_path / "empty", "holds nothing of nano-brain"),
    ):
        with pytest.raises(InvalidArgument, match=reason), SOURCE.open(path):
            pass


def test_its_home_is_found(tmp_path: Path) -> None:
    home = make_home(tmp_path / ".nano-brain")
    make_database(tmp_path / ".cache" / "nano-brain" / "x.sqlite", FIRST)
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [home, tmp_path / ".cache" / "nano-brain"]

"""What mempack and mem stored comes over whole: memories with their chains, states, and ingested files.

Also of vaults/sources/mempack_memories.py, vaults/sources/mempack_documents.py and vaults/sources/supersessions.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.vaults.sources.sqlite_fixtures import make_database, read_source
from vaults.errors import InvalidArgument
from vaults.sources.mempack import SOURCE
from vaults.sources.source import SearchPlaces

FIRST = """
CREATE TABLE repos (repo_id TEXT PRIMARY KEY, git_root TEXT NOT NULL, origin_hash TEXT, last_head TEXT,
    last_branch TEXT, created_at TEXT NOT NULL, last_seen_at TEXT NOT NULL);
CREATE TABLE state_current (repo_id TEXT NOT NULL, workspace TEXT NOT NULL, state_json TEXT NOT NULL,
    state_tokens INTEGER, updated_at TEXT NOT NULL, PRIMARY KEY (repo_id, workspace));
CREATE TABLE state_history (state_id TEXT PRIMARY KEY, repo_id TEXT NOT NULL, workspace TEXT NOT NULL,
    state_json TEXT NOT NULL, state_tokens INTEGER, created_at TEXT NOT NULL, reason TEXT);
CREATE TABLE threads (thread_id TEXT NOT NULL, repo_id TEXT NOT NULL, workspace TEXT NOT NULL DEFAULT 'default',
    title TEXT, tags_json TEXT, created_at TEXT NOT NULL, PRIMARY KEY (thread_id, repo_id, workspace));
CREATE TABLE memories (id TEXT PRIMARY KEY, repo_id TEXT NOT NULL, workspace TEXT NOT NULL DEFAULT 'default',
    thread_id TEXT, title TEXT NOT NULL, summary TEXT NOT NULL, summary_tokens INTEGER, tags_json TEXT,
    tags_text TEXT, entities_json TEXT, entities_text TEXT, created_at TEXT NOT NULL, anchor_commit TEXT,
    superseded_by TEXT, deleted_at TEXT);
CREATE TABLE artifacts (artifact_id TEXT PRIMARY KEY, repo_id TEXT NOT NULL,
    workspace TEXT NOT NULL DEFAULT 'default', kind TEXT, source TEXT, content_hash TEXT, created_at TEXT NOT NULL);
CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, repo_id TEXT NOT NULL, workspace TEXT NOT NULL DEFAULT 'default',
    artifact_id TEXT, thread_id TEXT, locator TEXT, text TEXT, text_hash TEXT, text_tokens INTEGER, tags_json TEXT,
    tags_text TEXT, created_at TEXT NOT NULL, deleted_at TEXT);
CREATE TABLE embeddings (repo_id TEXT NOT NULL, workspace TEXT NOT NULL DEFAULT 'default', kind TEXT NOT NULL,
    item_id TEXT NOT NULL, vector_json TEXT NOT NULL);
CREATE TABLE links (from_id TEXT NOT NULL, rel TEXT NOT NULL, to_id TEXT NOT NULL, weight REAL,
    created_at TEXT NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
LATEST = f"""{FIRST}
ALTER TABLE chunks ADD COLUMN chunk_type TEXT DEFAULT 'line';
ALTER TABLE chunks ADD COLUMN symbol_name TEXT;
ALTER TABLE chunks ADD COLUMN symbol_kind TEXT;
PRAGMA user_version = 10;
"""
COMMIT = "9c55658d2f7c3d0a1b2c3d4e5f60718293a4b5c6"
ROOT = "/home/ann/boats"
REPO = {"repo_id": "r1", "git_root": ROOT, "created_at": "2026-03-01T00:00:00Z", "last_seen_at": "2026-03-01T00:00:00Z"}


def at(minute: int) -> str:
    return f"2026-03-01T10:{minute:02}:00.123456789Z"


def memory(own: str, **change: Any) -> dict[str, Any]:
    texts = {"title": f"Title {own}", "summary": f"Summary {own}", "tags_json": "[]", "entities_json": "[]"}
    return {"id": own, "repo_id": "r1", "thread_id": "T-1", "created_at": at(0), **texts, **change}


def make_file(folder: Path, schema: str = LATEST, **rows: list[dict[str, Any]]) -> Path:
    return make_database(folder / "memory.db", schema, {"repos": [REPO], **rows})


@pytest.mark.parametrize("schema", [FIRST, LATEST])
def test_a_memory_keeps_thread_tags_entities_and_commit(tmp_path: Path, schema: str) -> None:
    row = memory("M-1", tags_json='["decision", "sea"]', entities_json='["Ann", "Bob"]', anchor_commit=COMMIT.upper())
    lone = memory(
        "M-2", workspace="side", entities_json='["Ann"]', anchor_commit="9c55658", tags_json=None, tags_text="a b"
    )
    found = read_source(SOURCE, make_file(tmp_path, schema, memories=[row, lone]))
    assert found.line("mempack:r1/M-1") == {
        "external_id": "mempack:r1/M-1",
        "content": "Summary M-1",
        "title": "Title M-1",
        "type": "decision",
        "tags": ["decision", "sea"],
        "subjects": [["mentions", "entity", "Ann"], ["mentions", "entity", "Bob"]],
        "workspace": ROOT,
        "thread": "T-1",
        "anchor_commit": COMMIT,
        "created_at": "2026-03-01T10:00:00.123Z",
    }
    second = found.line("mempack:r1/M-2")
    assert (second["entity"], second["type"], second["tags"]) == ("Ann", "fact", ["a", "b"])
    assert second["metadata"] == {"workspace": "side", "anchor_commit": "9c55658"}
    assert found.unreadable == []


def test_only_a_thread_with_a_title_of_its_own_becomes_a_memory(tmp_path: Path) -> None:
    thread = {"repo_id": "r1", "tags_json": '["x"]', "created_at": at(1)}
    rows = [{"thread_id": "T-1", "title": "T-1", **thread}, {"thread_id": "T-2", "title": "The race", **thread}]
    (line,) = read_source(SOURCE, make_file(tmp_path, threads=rows)).lines
    assert line["external_id"] == "mempack:r1/thread:T-2"
    assert (line["content"], line["type"], line["thread"], line["tags"]) == ("The race", "summary", "T-2", ["x"])


def test_a_chain_of_superseded_memories_stays_one(tmp_path: Path) -> None:
    rows = [memory("a", superseded_by="b"), memory("b", superseded_by="c"), memory("c")]
    stamp = {"created_at": at(1)}
    links = [
        {"from_id": "a", "rel": "superseded_by", "to_id": "b", **stamp},
        {"from_id": "b", "rel": "supersedes", "to_id": "a", **stamp},
    ]
    found = read_source(SOURCE, make_file(tmp_path, memories=rows, links=links))
    assert [line.get("supersedes") for line in found.of("memory")] == [None, "mempack:r1/a", "mempack:r1/b"]
    assert not any("archived_at" in line for line in found.lines)
    assert found.of("link") == []


def test_what_a_line_cannot_say_becomes_a_link(tmp_path: Path) -> None:
    rows = [
        memory("a", superseded_by="c"),
        memory("b", superseded_by="c"),
        memory("c", superseded_by="a"),
        memory("d", superseded_by="d"),
        memory("e", superseded_by="gone"),
    ]
    found = read_source(SOURCE, make_file(tmp_path, memories=rows))
    lines = {line["external_id"][-1]: line for line in found.of("memory")}
    assert {own for own, line in lines.items() if "archived_at" in line} == set("bcde")
    assert {own: line["supersedes"] for own, line in lines.items() if "supersedes" in line} == {"c": "mempack:r1/a"}
    assert [(each["from"], each["relation"], each["to"]) for each in found.of("link")] == [
        ("mempack:r1/c", "supersedes", "mempack:r1/b"),
        ("mempack:r1/a", "supersedes", "mempack:r1/c"),
    ]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.lists(st.integers(0, 7), min_size=8, max_size=8))
def test_no_circle_is_ever_said(tmp_path_factory: pytest.TempPathFactory, chosen: list[int]) -> None:
    rows = [memory(str(own), superseded_by=str(newer)) for own, newer in enumerate(chosen)]
    found = read_source(SOURCE, make_file(tmp_path_factory.mktemp("x"), memories=rows))
    seen: set[str] = set()
    for line in found.of("memory"):
        assert line.get("supersedes") is None or line["supersedes"] in seen
        seen.add(line["external_id"])
    said = [line["supersedes"] for line in found.of("memory") if "supersedes" in line]
    assert len(said) == len(set(said))
    assert len(said) + len(found.of("link")) == sum(own != newer for own, newer in enumerate(chosen))


def test_links_hold_between_memories_that_are_there(tmp_path: Path) -> None:
    stamp = {"created_at": at(1)}
    links = [{"from_id": "a", "rel": "depends_on", "to_id": "b", **stamp}] * 2
    links += [{"from_id": "a", "rel": "depends_on", "to_id": "gone", **stamp}]
    found = read_source(SOURCE, make_file(tmp_path, memories=[memory("a"), memory("b")], links=links))
    assert found.of("link") == [
        {
            "kind": "link",
            "external_id": "mempack:r1/link:a depends_on b",
            "from": "mempack:r1/a",
            "relation": "depends_on",
            "to": "mempack:r1/b",
        }
    ]
    assert found.left == {"links to what is gone": 1}


def test_states_become_checkpoints_each_once(tmp_path: Path) -> None:
    place = {"repo_id": "r1", "workspace": "default"}
    history = [
        {"state_id": "S-1", "state_json": '{"goal": 1}', "created_at": at(1), "reason": "began", **place},
        {"state_id": "S-2", "state_json": "[1, 2]", "created_at": at(2), "reason": "", **place},
        {"state_id": "S-3", "state_json": "not json", "created_at": at(3), **place},
        {"state_id": "S-4", "state_json": '{"big": "%s", "small": 1}' % ("x" * 70_000), "created_at": at(4), **place},
    ]
    current = [
        {"state_json": history[-1]["state_json"], "updated_at": at(4), **place},
        {"repo_id": "r1", "workspace": "side", "state_json": '{"goal": 2}', "updated_at": at(5)},
    ]
    left_behind = memory("M-1", title="Checkpoint", summary="began", thread_id="T-9", created_at=at(1))
    path = make_file(tmp_path, state_history=history, state_current=current, memories=[left_behind])
    found = read_source(SOURCE, path)
    assert [(each["external_id"], each["reason"], each["state"]) for each in found.of("checkpoint")] == [
        ("mempack:r1/state:S-1", "began", {"goal": 1}),
        ("mempack:r1/state:S-2", "state kept by mem", {"state": [1, 2]}),
        ("mempack:r1/state:S-3", "state kept by mem", {"raw": "not json"}),
        ("mempack:r1/state:S-4", "state kept by mem", {"small": 1, "left_out": ["big"]}),
        ("mempack:r1/state:side", "state kept by mem", {"goal": 2}),
    ]
    assert [each.get("thread") for each in found.of("checkpoint")] == ["T-9", None, None, None, None]
    assert found.of("memory")[0]["type"] == "summary"


def chunk(own: str, artifact: str | None, **change: Any) -> dict[str, Any]:
    base = {"chunk_id": own, "repo_id": "r1", "artifact_id": artifact, "thread_id": "T-1", "created_at": at(1)}
    return {**base, "locator": f"git:{COMMIT}:src/a.py#L{own}-L{own}", "text": f"text {own}", **change}


@pytest.mark.parametrize(
    "written",
    ["2026-03-01T10:02:03.456789012Z", "2026-03-01T10:02:03.456Z", "2026-03-01T12:02:03.456+02:00"],
    ids=["RFC3339Nano", "RFC3339 in UTC", "RFC3339 with an offset"],
)
def test_timestamps_of_a_state_are_read_in_either_form(tmp_path: Path, written: str) -> None:
    state = {"repo_id": "r1", "workspace": "default", "state_json": '{"goal": 1}', "updated_at": written}
    (line,) = read_source(SOURCE, make_file(tmp_path, state_current=[state])).lines
    assert (line["kind"], line["state"]) == ("checkpoint", {"goal": 1})
    assert line["created_at"] == "2026-03-01T10:02:03.456Z"


def test_ingested_files_become_documents_in_order(tmp_path: Path) -> None:
    artifact = {"repo_id": "r1", "kind": "file", "content_hash": "ff", "created_at": at(1)}
    rows = {
        "artifacts": [
            {"artifact_id": "A-1", "source": "src/a b.py", **artifact},
            {"artifact_id": "A-2", "source": "old.md", **artifact},
        ],
        "chunks": [
            chunk("1", "A-1", symbol_name="main"),
            chunk("2", None, locator="file:notes.md#L1-L2"),
            chunk("3", "A-1"),
            chunk("4", "A-1", deleted_at=at(2)),
            chunk("5", "A-0"),
            chunk("6", "A-0"),
        ],
        "embeddings": [{"repo_id": "r1", "kind": "chunk", "item_id": "1", "vector_json": "[]"}],
    }
    found = read_source(SOURCE, make_file(tmp_path, **rows))
    assert found.line("mempack:r1/document:A-1") == {
        "kind": "document",
        "external_id": "mempack:r1/document:A-1",
        "format": "code",
        "title": "src/a b.py",
        "uri": "file:///home/ann/boats/src/a%20b.py",
        "workspace": ROOT,
        "thread": "T-1",
        "created_at": "2026-03-01T10:01:00.123Z",
        "metadata": {"content_hash": "ff"},
        "parts": [
            {"text": "text 1", "heading": "main", "locator": f"git:{COMMIT}:src/a.py#L1-L1"},
            {"text": "text 3", "locator": f"git:{COMMIT}:src/a.py#L3-L3"},
        ],
    }
    lone, other = found.line("mempack:r1/document:2"), found.line("mempack:r1/document:A-0")
    assert (lone["title"], lone["format"]) == ("notes.md", "markdown")
    assert [part["text"] for part in other["parts"]] == ["text 5", "text 6"]
    assert found.left == {"ingested files without text": 1, "deleted pieces of files": 1, "embeddings": 1}


def test_forgotten_memories_are_archived_and_the_welcome_stays_behind(tmp_path: Path) -> None:
    rows = [memory("M-WELCOME"), memory("a", deleted_at=at(9)), memory("b", title="", summary=" ")]
    found = read_source(SOURCE, make_file(tmp_path, memories=rows))
    (line,) = found.lines
    assert (line["archived_at"], line["archived_reason"]) == ("2026-03-01T10:09:00.123Z", "forgotten in mem")
    assert found.left == {"welcomes of mem": 1}
    assert [each.reason for each in found.unreadable] == ["has neither summary nor title"]


def test_all_repositories_of_a_folder_are_read_one_after_the_other(tmp_path: Path) -> None:
    repos = tmp_path / "mempack" / "repos"
    for name in ("r1", "r2"):
        repo = {**REPO, "repo_id": name}
        row = memory("M-1", repo_id=name)
        make_database(repos / name / "memory.db", LATEST, {"repos": [repo], "memories": [row]})
    (repos / "r3").mkdir()
    (repos / "r3" / "memory.db").write_bytes(b"no database")
    (repos / "r4").symlink_to(repos / "r1")
    for path in (repos, repos.parent):
        found = read_source(SOURCE, path)
        assert [line["external_id"] for line in found.lines] == ["mempack:r1/M-1", "mempack:r2/M-1"]
        (bad,) = found.unreadable
        assert bad.place == "r3/memory.db"
        assert "no SQLite file" in bad.reason


def test_other_files_are_refused(tmp_path: Path) -> None:
    newer = make_file(tmp_path / "a", LATEST.replace("user_version = 10", "user_version = 11"))
    other = make_database(tmp_path / "b" / "memory.db", "CREATE TABLE memories (id TEXT)")
    (tmp_path / "c").mkdir()
    for path, reason in (
        (newer, "newer mem: its schema is 11, 10 is known"),
        (other, "none of mempack"),
        (tmp_path / "c", "holds no memory.db"),
    ):
        with pytest.raises(InvalidArgument, match=reason), SOURCE.open(path):
            pass


def test_both_names_and_shared_folders_are_found(tmp_path: Path) -> None:
    share = tmp_path / "share" / "mem-share"
    share.mkdir(parents=True)
    for name in ("manifest.json", "memories.jsonl"):
        (share / name).write_text("{}")
    data = tmp_path / ".local" / "share"
    paths = [make_file(data / name / "repos" / "r1") for name in ("mempack", "mem")]
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path / "share"))) == [*paths, share]

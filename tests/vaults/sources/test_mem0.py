"""Mem0's memories from exports and from its history (vaults.sources.mem0, vaults.sources.mem0_history)."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.sources.sqlite_fixtures import ReadSource, make_database, read_source
from tests.work import examples
from vaults.errors import InvalidArgument
from vaults.sources.mem0 import SOURCE
from vaults.sources.source import SearchPlaces

# As mem0ai 2.2.1 makes it.
SCHEMA = """
CREATE TABLE history (
    id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
    created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT
);
CREATE TABLE messages (
    id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT, created_at DATETIME
);
"""


def memory(number: int = 1, **more: Any) -> dict[str, Any]:
    """As ``get_all`` of 2.2.1 returns it."""
    return {
        "id": f"45bff3ac-{number:04}",
        "memory": f"Likes tea number {number}",
        "hash": "b97348454993f425255396ccb662e0a9",
        "metadata": {"topic": "food"},
        "created_at": "2026-11-23T00:22:25.093357+00:00",
        "updated_at": "2026-11-24T00:22:25.093357+00:00",
        "user_id": "ann",
        "agent_id": "bot",
        "role": "assistant",
    } | more


def change(number: int, event: str, new: str | None, day: int, memory_id: str = "m1", **more: Any) -> dict[str, Any]:
    return {
        "id": f"h{number}",
        "memory_id": memory_id,
        "old_memory": None,
        "new_memory": new,
        "event": event,
        "created_at": "2026-11-01T00:00:00+00:00",
        "updated_at": f"2026-11-{day:02}T00:00:00+00:00",
        "is_deleted": event == "DELETE",
        "actor_id": None,
        "role": "user",
    } | more


def read(tmp_path: Path, content: Any, name: str = "export.json") -> ReadSource:
    path = tmp_path / "mem0" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_source(SOURCE, path)


def test_a_memory_keeps_whom_it_is_of_and_its_metadata(tmp_path: Path) -> None:
    platform = {"categories": ["food", "habits"], "run_id": "r1", "app_id": "shop", "immutable": True, "score": 0.4}
    (line,) = read(tmp_path, {"results": [memory(**platform)]}).lines
    assert line == {
        "external_id": "mem0:45bff3ac-0001",
        "content": "Likes tea number 1",
        "type": "fact",
        "tags": ["food", "habits"],
        "entity": "ann",
        "author": "bot",
        "thread": "r1",
        "workspace": "shop",
        "metadata": {"topic": "food", "role": "assistant", "immutable": True},
        "created_at": "2026-11-23T00:22:25.093Z",
        "updated_at": "2026-11-24T00:22:25.093Z",
    }


@pytest.mark.parametrize(
    "export",
    [
        [memory(1), memory(2)],
        {"results": [memory(1), memory(2)]},
        {"count": 2, "next": None, "previous": None, "results": [memory(1), memory(2)]},
        {"memories": [memory(1), memory(2)], "total": 2},
        [{"count": 2, "results": [memory(1)]}, {"count": 2, "results": [memory(2)]}],
    ],
)
def test_each_shape_of_an_export_is_read(tmp_path: Path, export: Any) -> None:
    found = read(tmp_path, export)
    assert [line["external_id"] for line in found.lines] == ["mem0:45bff3ac-0001", "mem0:45bff3ac-0002"]
    assert (found.unreadable, found.left) == ([], {})


def test_lines_do_as_well(tmp_path: Path) -> None:
    found = read(tmp_path, "\n".join([json.dumps(memory(1)), "{", json.dumps(memory(2))]), "export.jsonl")
    assert len(found.lines) == 2
    assert [(each.place, each.reason) for each in found.unreadable] == [("line 2", "the line is not JSON")]


def test_an_expiration_becomes_a_lifetime(tmp_path: Path) -> None:
    (line,) = read(tmp_path, [memory(expiration_date="2026-12-03T00:22:25.093357+00:00")]).lines
    assert line["ttl_days"] == pytest.approx(10)


def test_graph_relations_embeddings_and_broken_entries_are_counted_or_said(tmp_path: Path) -> None:
    export = {
        "results": [memory(1, embedding=[0.1]), memory(2, memory=" "), {"memory": "no id"}, "text"],
        "relations": [{"source": "ann", "relationship": "likes", "target": "tea"}],
    }
    found = read(tmp_path, export)
    assert len(found.lines) == 1
    assert [each.reason for each in found.unreadable] == ["has no text", "has no id", "is no memory"]
    assert found.left == {"embeddings": 1, "graph relations": 1}


def test_a_backup_of_openmemory_is_read_once_and_without_what_was_deleted(tmp_path: Path) -> None:
    def entry(number: int, state: str) -> dict[str, Any]:
        dates = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-02T00:00:00+00:00"}
        more = {"metadata": {}, "state": state, "app": "cursor", "categories": ["work"]}
        return {"id": f"m{number}", "content": f"Text {number}"} | dates | more

    entries = [entry(1, "active"), entry(2, "archived"), entry(3, "deleted")]
    path = tmp_path / "memories_export_ann.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("memories.json", json.dumps({"user": {"id": "u"}, "memories": entries}))
        lines = "".join(json.dumps(each) + "\n" for each in entries)
        packed.writestr("memories.jsonl.gz", gzip.compress(lines.encode()))
    found = read_source(SOURCE, path)
    assert [(line["content"], line["workspace"], line["tags"]) for line in found.lines] == [
        ("Text 1", "cursor", ["work"]),
        ("Text 2", "cursor", ["work"]),
    ]
    assert found.lines[1]["archived_at"] == "2026-01-02T00:00:00.000Z"
    assert found.left == {"deleted memories": 1}


def test_damaged_lines_of_a_backup_are_said(tmp_path: Path) -> None:
    path = tmp_path / "memories.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(memory()).encode())[:-12])
    found = read_source(SOURCE, path)
    assert [each.reason for each in found.unreadable] == ["is damaged"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_history_carries_earlier_texts_as_superseded(tmp_path: Path, *, as_json: bool) -> None:
    rows = [
        change(1, "ADD", "Likes tea", 1),
        change(2, "UPDATE", "Likes green tea", 2),
        change(3, "ADD", "Gone", 3, "m2"),
        change(4, "DELETE", None, 4, "m2"),
    ]
    if as_json:
        found = read(tmp_path, rows, "history.json")
    else:
        make_database(tmp_path / ".mem0" / "history.db", SCHEMA, {"history": rows, "messages": [{"id": "1"}]})
        found = read_source(SOURCE, tmp_path / ".mem0")
    assert found.lines == [
        {
            "external_id": "mem0:m1:h1",
            "content": "Likes tea",
            "type": "fact",
            "metadata": {"role": "user"},
            "created_at": "2026-11-01T00:00:00.000Z",
            "archived_at": "2026-11-02T00:00:00.000Z",
            "archived_reason": "changed in Mem0",
        },
        {
            "external_id": "mem0:m1",
            "content": "Likes green tea",
            "type": "fact",
            "metadata": {"role": "user"},
            "created_at": "2026-11-02T00:00:00.000Z",
            "supersedes": "mem0:m1:h1",
            "partial": True,
        },
    ]
    assert found.left == {"deleted memories": 1} | ({} if as_json else {"recent messages kept for context": 1})


def test_changes_of_several_memories_may_lie_between_each_other(tmp_path: Path) -> None:
    rows = [change(1, "ADD", "a", 1), change(2, "ADD", "b", 1, "m2"), change(3, "UPDATE", "c", 2)]
    make_database(tmp_path / "history.db", SCHEMA, {"history": rows})
    found = read_source(SOURCE, tmp_path / "history.db")
    assert [line["content"] for line in found.lines] == ["a", "c", "b"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    make_database(tmp_path / "other.db", "CREATE TABLE x (a)")
    (tmp_path / "config.json").write_text("{}")
    for path, reason in ((tmp_path / "other.db", "no history of Mem0"), (tmp_path, "neither an export")):
        with pytest.raises(InvalidArgument, match=reason), SOURCE.open(path):
            pass


def test_its_history_is_found(tmp_path: Path) -> None:
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == []
    path = make_database(tmp_path / ".mem0" / "history.db", SCHEMA)
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [path]


_ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.text(), max_size=2)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.dictionaries(st.sampled_from([*memory(), "categories", "expiration_date", "state", "event", "memory_id"]), _ANY)
)
def test_no_entry_raises(tmp_path_factory: pytest.TempPathFactory, odd: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("mem0") / "export.jsonl"
    path.write_text(json.dumps(memory() | odd))
    with SOURCE.open(path) as reading:
        list(reading.items)

"""Local Recall's memories of both generations."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.sources.sqlite_fixtures import read_source
from tests.work import examples
from vaults.errors import InvalidArgument
from vaults.sources.local_recall import SOURCE
from vaults.sources.source import SearchPlaces, SourceItem

NOTE = """---
id: 00255afd-23d7-4266-bc31-1160c0d1318a
subject: >-
  The user is experiencing a mutex error that's happening because both the MCP
  server's background...
keywords:
  - mutex
  - sqlite
applies_to: area:database
occurred_at: '2025-12-03T08:33:42.090Z'
content_hash: cbde3d9b6a8b029f
---
## Thought

Two processes share one file.
"""


def add(number: int, **other: Any) -> dict[str, Any]:
    """A line as 0.1.12 writes it."""
    return {
        "action": "add",
        "id": f"b1576970-4c65-4d86-bc4f-{number:012}",
        "subject": f"Subject {number}",
        "keywords": ["vector-store", "testing"],
        "applies_to": "file:src/core/store.ts",
        "occurred_at": "2025-12-21T19:15:15.466Z",
        "content_hash": f"d63df2b37872{number:04}",
        "content": f"Content number {number}.",
        "timestamp": "2025-12-21T19:27:10.943Z",
    } | other


def delete(number: int) -> dict[str, Any]:
    return {"action": "delete", "id": add(number)["id"], "timestamp": "2025-12-22T00:00:00.000Z"}


def write_lines(path: Path, *entries: dict[str, Any] | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [each if isinstance(each, str) else json.dumps(each, separators=(",", ":")) for each in entries]
    path.write_text("".join(f"{line}\n" for line in lines))


def write_note(path: Path, text: str = NOTE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "local-recall"


def test_a_line_becomes_a_memory(folder: Path) -> None:
    write_lines(folder / "episodic-memory" / "episodic-000001.jsonl", add(1))
    (line,) = read_source(SOURCE, folder).lines
    assert line == {
        "external_id": "local-recall:b1576970-4c65-4d86-bc4f-000000000001",
        "content": "Content number 1.",
        "title": "Subject 1",
        "type": "episodic",
        "keywords": ["vector-store", "testing"],
        "applies_to": "file:src/core/store.ts",
        "occurred_at": "2025-12-21T19:15:15.466Z",
        "created_at": "2025-12-21T19:27:10.943Z",
    }


def test_a_markdown_file_becomes_one_too(folder: Path) -> None:
    write_note(folder / "thinking-memory" / "00255afd-23d7-4266-bc31-1160c0d1318a.md")
    (line,) = read_source(SOURCE, folder).lines
    assert line["external_id"] == "local-recall:00255afd-23d7-4266-bc31-1160c0d1318a"
    assert (line["type"], line["applies_to"]) == ("thinking", "area:database")
    assert line["title"].startswith("The user is experiencing a mutex error that's happening because both")
    assert line["content"] == "## Thought\n\nTwo processes share one file."
    assert line["occurred_at"] == line["created_at"] == "2025-12-03T08:33:42.090Z"


def test_the_first_files_had_other_times(folder: Path) -> None:
    dates = "created_at: 2025-11-29T10:00:00Z\nupdated_at: 2025-11-30T10:00:00Z"
    write_note(folder / "episodic-memory" / "x.md", NOTE.replace("occurred_at: '2025-12-03T08:33:42.090Z'", dates))
    (line,) = read_source(SOURCE, folder).lines
    assert (line["created_at"], line["updated_at"]) == ("2025-11-29T10:00:00.000Z", "2025-11-30T10:00:00.000Z")


def test_what_later_lines_delete_is_not_carried_unless_it_comes_back(folder: Path) -> None:
    write_lines(folder / "episodic-memory" / "episodic-000001.jsonl", add(1), add(2), delete(1))
    write_lines(folder / "episodic-memory" / "episodic-000002.jsonl", delete(2), add(1, content="Told again."))
    found = read_source(SOURCE, folder)
    assert [line["content"] for line in found.lines] == ["Told again."]
    assert found.left == {"deleted memories": 2}


def test_what_a_migration_left_behind_counts_once(folder: Path) -> None:
    write_note(folder / "thinking-memory" / "old.md")
    migrated = add(1, content_hash="cbde3d9b6a8b029f", occurred_at="2025-12-03T08:33:42.090Z")
    write_lines(folder / "thinking-memory" / "thinking-000001.jsonl", migrated)
    found = read_source(SOURCE, folder)
    assert [line["title"] for line in found.lines] == ["Subject 1"]
    assert found.left == {"Markdown of memories that are in lines": 1}


def test_everything_else_is_counted(folder: Path) -> None:
    embedding = {"action": "embedding", "id": add(1)["id"], "embedding": [0.1] * 768}
    write_lines(folder / "episodic.jsonl", add(1), embedding)
    write_lines(folder / "processed-log.jsonl", {"action": "add", "filename": "x.jsonl"})
    write_lines(folder / "orama-episodic-index.json", "{}")
    write_lines(folder / "transcripts" / "x.jsonl", "{}")
    found = read_source(SOURCE, folder)
    assert len(found.lines) == 1
    assert found.left == {
        "embeddings": 1,
        "logs of transcripts read": 1,
        "search indexes": 1,
        "copies of Claude's transcripts": 1,
    }


def test_what_is_broken_is_said_and_the_rest_is_read(folder: Path) -> None:
    write_lines(
        folder / "episodic-memory" / "episodic-000001.jsonl",
        '{"action":"add","id":"x"',
        add(2, content=" "),
        add(3, id=None),
        add(4, applies_to="everywhere", content="Odd scope, and half a character: \ud83d"),
    )
    write_note(folder / "episodic-memory" / "bare.md", "no frontmatter")
    write_note(folder / "episodic-memory" / "yaml.md", "---\na: [\n---\nx\n")
    found = read_source(SOURCE, folder)
    assert [each.reason.partition(":")[0] for each in found.unreadable] == [
        "has no frontmatter",
        "has frontmatter that cannot be read",
        "the line is not JSON",
        "has no content",
        "has no id",
    ]
    (line,) = found.lines
    assert line["metadata"] == {"applies_to": "everywhere"}
    assert "\ud83d" not in line["content"]


def test_the_project_around_it_and_a_zip_do_as_well(folder: Path, tmp_path: Path) -> None:
    write_lines(folder / "episodic-memory" / "episodic-000001.jsonl", add(1))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.write(
            folder / "episodic-memory" / "episodic-000001.jsonl", "local-recall/episodic-memory/episodic.jsonl"
        )
    assert read_source(SOURCE, tmp_path).lines == read_source(SOURCE, folder).lines
    assert read_source(SOURCE, tmp_path / "x.zip").lines == read_source(SOURCE, folder).lines


def test_a_folder_without_memories_is_refused_and_not_found(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    with pytest.raises(InvalidArgument, match="no memories"), SOURCE.open(folder):
        pass
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == []
    (folder / "thinking-memory").mkdir()
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [folder]


@settings(max_examples=examples(40), deadline=None)
@given(text=st.text(max_size=80), keys=st.dictionaries(st.sampled_from(["id", "subject", "keywords"]), st.text()))
def test_nothing_in_a_file_raises(tmp_path_factory: pytest.TempPathFactory, text: str, keys: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("local-recall")
    write_lines(folder / "episodic.jsonl", json.dumps(add(1) | keys), json.dumps(text))
    (folder / "thinking-memory").mkdir()
    (folder / "thinking-memory" / "x.md").write_bytes(f"---\n{text}\n---\n{text}".encode("utf-8", "replace"))
    items: list[SourceItem] = []
    with SOURCE.open(folder) as reading:
        items += reading.items
    assert len(items) >= 2

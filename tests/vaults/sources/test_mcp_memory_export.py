"""The JSON that mcp-memory-service exports is read as its file is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.sources.sqlite_fixtures import read_source
from vaults.errors import InvalidArgument
from vaults.sources.mcp_memory_service import SOURCE

MEMORY = {
    "content": "We chose SQLite",
    "content_hash": "aa",
    "tags": ["db"],
    "created_at": 1795394786.434,
    "updated_at": 1795394790.0,
    "memory_type": "architecture",
    "metadata": {"quality_score": 0.8},
    "store": "default",
    "export_source": "vm",
}


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_an_export_is_read_whole(tmp_path: Path) -> None:
    old = {**MEMORY, "content_hash": "bb", "metadata": {"superseded_by": "aa"}}
    value = {"export_metadata": {"total_memories": 2, "exporter_version": "5.0.1"}, "memories": [MEMORY, old, 5, {}]}
    found = read_source(SOURCE, write(tmp_path / "export.json", value))
    assert found.line("mcp-memory-service:aa") == {
        "external_id": "mcp-memory-service:aa",
        "content": "We chose SQLite",
        "type": "decision",
        "tags": ["db"],
        "metadata": {"quality_score": 0.8, "original_type": "architecture"},
        "created_at": "2026-11-23T00:46:26.434Z",
        "updated_at": "2026-11-23T00:46:30.000Z",
    }
    assert found.line("mcp-memory-service:bb")["archived_reason"] == "superseded"
    (link,) = found.of("link")
    assert (link["from"], link["to"]) == ("mcp-memory-service:aa", "mcp-memory-service:bb")
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("memory 3", "is no JSON object"),
        ("memory 4", "has no content"),
    ]


def test_what_the_health_check_saved_is_read(tmp_path: Path) -> None:
    saved = {
        "hash": "aa",
        "content": "c",
        "created_at": 1795394786,
        "metadata": '{"a": 1}',
        "tags": "x,y",
        "type": "bug",
    }
    (line,) = read_source(SOURCE, write(tmp_path / "saved.json", [saved])).lines
    assert (line["external_id"], line["tags"], line["type"]) == ("mcp-memory-service:aa", ["x", "y"], "error")
    assert line["metadata"] == {"a": 1, "original_type": "bug"}


def test_an_export_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = write(tmp_path / "export.json", {"memories": [MEMORY, {**MEMORY, "content_hash": "bb"}]})
    path.write_bytes(path.read_bytes()[:-50])
    found = read_source(SOURCE, path)
    assert len(found.lines) == 1
    assert [(each.place, each.reason) for each in found.unreadable] == [("memory 2", "it ends in the middle")]


@pytest.mark.parametrize("content", ["", "{}", "[]", "hello", '{"memories": 5}', '{"entries": [1]}'])
def test_other_json_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(content)
    with pytest.raises(InvalidArgument, match="no export of mcp-memory-service"), SOURCE.open(path):
        pass

"""Folders that ``mem share`` wrote are read line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.sources.sqlite_fixtures import read_source
from vaults.errors import InvalidArgument
from vaults.sources import mempack_share
from vaults.sources.mempack import SOURCE

MANIFEST = {"schema_version": 1, "source_repo_id": "r1", "source_git_root": "/home/ann/boats", "workspace": "default"}
TEXTS = {"title": "Tides", "summary": "High at noon", "tags": ["sea"]}
RECORD = {"source_id": "M-1", **TEXTS, "created_at": "2026-03-01T10:00:00Z"}


def make_share(folder: Path, lines: list[str], manifest: dict[str, Any] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest or MANIFEST))
    (folder / "memories.jsonl").write_text("\n".join(lines))
    return folder


def test_its_memories_have_the_ids_they_have_in_the_file_of_the_repository(tmp_path: Path) -> None:
    found = read_source(SOURCE, make_share(tmp_path, [json.dumps(RECORD), ""]))
    assert found.lines == [
        {
            "external_id": "mempack:r1/M-1",
            "content": "High at noon",
            "title": "Tides",
            "type": "fact",
            "tags": ["sea"],
            "workspace": "/home/ann/boats",
            "created_at": "2026-03-01T10:00:00.000Z",
        }
    ]
    assert found.total == (tmp_path / "memories.jsonl").stat().st_size


def test_a_line_that_is_none_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mempack_share, "MAX_LINE", 1000)
    lines = ["{", "[1]", '{"title": ""}', "x" * 5000, json.dumps(RECORD)]
    found = read_source(SOURCE, make_share(tmp_path, lines))
    assert len(found.lines) == 1
    assert [each.place for each in found.unreadable] == [f"memories.jsonl, line {number}" for number in (1, 2, 3, 4)]


def test_a_manifest_of_others_is_refused(tmp_path: Path) -> None:
    for manifest, reason in (({"a": 1}, "none of mem"), ({**MANIFEST, "schema_version": 2}, "only version 1")):
        with pytest.raises(InvalidArgument, match=reason), SOURCE.open(make_share(tmp_path, [], manifest)):
            pass

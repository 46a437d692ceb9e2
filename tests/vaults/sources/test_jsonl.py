"""Our own lines are handed on as they are; what is no line is said, with its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vaults.errors import InvalidArgument
from vaults.sources import jsonl
from vaults.sources.jsonl import SOURCE
from vaults.sources.source import SourceItem, SourceRecord, UnreadableRecord


def read(path: Path) -> list[SourceItem]:
    with SOURCE.open(path) as reading:
        items = list(reading.items)
        assert not items or items[-1].done == reading.total
        return items


def test_objects_come_as_they_stand_with_their_line(tmp_path: Path) -> None:
    objects = [{"content": "no id"}, {"kind": "unheard of", "external_id": "x", "more": [1, None]}]
    path = tmp_path / "lines.jsonl"
    path.write_text("\n\n".join(json.dumps(each) for each in objects) + "\n", encoding="utf-8-sig")
    assert [(item.place, item.fields) for item in read(path) if isinstance(item, SourceRecord)] == [
        (1, objects[0]),
        (3, objects[1]),
    ]


def test_the_files_of_an_export_come_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text('{"kind": "link"}\n')
    (tmp_path / "memories.jsonl").write_text('{"content": "a"}\n')
    assert [item.place for item in read(tmp_path)] == ["memories.jsonl line 1", "records.jsonl line 1"]


def test_broken_and_endless_lines_are_said_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "LINE_LIMIT", 100)
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a": 1\n' + b"x" * 1000 + b'\n"caf\xe9"\n{"a": 2}\n')
    *broken, fine = read(path)
    assert [(each.place, each.reason, each.raw) for each in broken if isinstance(each, UnreadableRecord)] == [
        (1, "the line is not JSON", b'{"a": 1\n'),
        (2, "the line is longer than 100 bytes", None),
        (3, "the line is not UTF-8", b'"caf\xe9"\n'),
    ]
    assert isinstance(fine, SourceRecord)
    assert fine.fields == {"a": 2}


def test_an_empty_file_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").touch()
    assert read(tmp_path / "lines.jsonl") == []


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InvalidArgument, match="PATH"), SOURCE.open(path):
            pass

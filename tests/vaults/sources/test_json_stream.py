"""Large JSON is read entry by entry, and never beyond its bounds."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.sources import json_stream
from vaults.sources.archives import open_archive
from vaults.sources.json_stream import JsonEntry, stream_entries, stream_objects


def read(data: bytes) -> list[JsonEntry]:
    return list(stream_entries(io.BytesIO(data)))


def test_elements_of_an_array_come_one_by_one() -> None:
    found = read(b'\xef\xbb\xbf[{"a": [1, {"b": null}]}, 2.5, "x"]')
    assert [(entry.number, entry.value) for entry in found] == [(1, {"a": [1, {"b": None}]}), (2, 2.5), (3, "x")]


def test_arrays_of_an_object_come_element_by_element_and_the_rest_whole() -> None:
    found = read(b'{"user": {"n": [1]}, "conversations": [[1], {"id": 2}], "empty": [], "total": 3}')
    assert [(entry.key, entry.value) for entry in found] == [
        ("user", {"n": [1]}),
        ("conversations", [1]),
        ("conversations", {"id": 2}),
        ("total", 3),
    ]


@pytest.mark.parametrize(
    ("text", "values", "problem"),
    [
        (b"[1, 2", [1, 2], "it ends in the middle"),
        (b"[1, 2 3]", [1, 2], "from here on it is not JSON"),
        (b'[1, "\xff"]', [1], "from here on it is not JSON"),
        (b"", [], "it ends in the middle"),
        (b"[NaN]", [], "from here on it is not JSON"),
    ],
)
def test_what_is_broken_ends_the_reading_and_is_said(text: bytes, values: list[Any], problem: str) -> None:
    *good, last = read(text)
    assert [entry.value for entry in good] == values
    assert last.problem == problem


def test_an_entry_beyond_bounds_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "ENTRY_CHARACTERS", 2000)
    deep = "[" * 200 + "]" * 200
    long = json.dumps(["x" * 90] * 20)
    first, *middle, last = read(f'["a", {deep}, {long}, {{"b": 1}}]'.encode())
    assert (first.value, last.value) == ("a", {"b": 1})
    assert ["nested" in str(middle[0].problem), "larger" in str(middle[1].problem)] == [True, True]
    assert [entry.value for entry in middle] == [None, None]


def test_a_text_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "ENTRY_CHARACTERS", 1000)
    monkeypatch.setattr(json_stream, "_BUFFER", 100)
    file = io.BytesIO(b'["a", "' + b"x" * 100_000 + b'", "b"]')
    *_, last = stream_entries(file)
    assert "a text larger" in str(last.problem)
    assert file.tell() < 5000


def test_numbers_of_any_size_are_read() -> None:
    (entry,) = read(b'[{"t": 1704067200.123, "huge": 1e999, "long": 123456789012345678901234567890}]')
    assert entry.value == {"t": 1704067200.123, "huge": None, "long": 123456789012345678901234567890}


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(_JSON, max_size=5))
def test_it_reads_what_json_wrote(values: list[Any]) -> None:
    assert [entry.value for entry in read(json.dumps(values).encode())] == values


@given(st.binary(max_size=60) | st.text('[]{}",:1ea\\u ', max_size=60).map(str.encode))
def test_nothing_in_a_file_raises(data: bytes) -> None:
    for entry in read(data):
        assert entry.number >= 1


def test_files_of_one_object_or_of_a_list_are_read_alike(tmp_path: Path) -> None:
    for name, text in {
        "a.json": '{"id": 1}',
        "b.json": ' [{"id": 2}, {"id": 3}]',
        "c.json": '{"id"',
        "d.json": "",
    }.items():
        (tmp_path / name).write_text(text)
    with open_archive(tmp_path) as archive:
        found = [(member.path, entry.value, entry.problem) for member, entry, _ in stream_objects(archive.walk())]
    assert found == [
        ("a.json", {"id": 1}, None),
        ("b.json", {"id": 2}, None),
        ("b.json", {"id": 3}, None),
        ("c.json", None, "it ends in the middle"),
        ("d.json", None, "it ends in the middle"),
    ]

"""The quick way through an array finds what the thorough one finds, wherever a buffer ends."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.sources import json_stream
from vaults.sources.json_array import ArrayReader, has_half_character, measure_value
from vaults.sources.json_stream import JsonEntry, stream_entries

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=20,
)


def read_thoroughly(data: bytes) -> list[JsonEntry]:
    """What the parser of events makes of it."""
    file = json_stream._TextFile(io.BytesIO(data))
    return list(json_stream._number(json_stream._assemble(json_stream._read_events(file))))


def read_quickly(data: bytes, buffer: int = 16) -> tuple[list[Any], bytes]:
    array = ArrayReader(io.BytesIO(data), 1000, buffer)
    values, rest = [value for value, _ in array], array.rest()
    return values, b"".join(iter(lambda: rest.read(64), b""))


@given(st.lists(_JSON, max_size=5), st.integers(1, 40), st.booleans(), st.sampled_from(["", "]", " ,", "[", "}", "x"]))
def test_both_ways_find_the_same(values: list[Any], buffer: int, escaped: bool, after: str) -> None:
    data = (" " + json.dumps(values, ensure_ascii=escaped, indent=1) + after).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_BUFFER", buffer)
        assert list(stream_entries(io.BytesIO(data))) == read_thoroughly(data)


@given(st.text('[]{}",:1e.-au\\ \n', max_size=40), st.integers(1, 9))
def test_both_ways_say_the_same_is_wrong(text: str, buffer: int) -> None:
    data = f"[1, {text}".encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_BUFFER", buffer)
        assert list(stream_entries(io.BytesIO(data))) == read_thoroughly(data)


def test_whole_entries_are_taken_and_the_rest_is_an_array_again() -> None:
    values, rest = read_quickly(b'\xef\xbb\xbf [12, {"a": [true]}, "x", NaN, 3]')
    assert (values, rest) == ([12, {"a": [True]}, "x"], b"[0, NaN, 3]")


@pytest.mark.parametrize("data", [b'{"a": 1}', b"", b"3", b'["\xff"]', b"[nul"])
def test_what_is_no_sound_array_is_left_as_it_is(data: bytes) -> None:
    assert read_quickly(data) == ([], data)


def test_an_entry_beyond_its_bound_is_left_to_the_other_way() -> None:
    values, rest = read_quickly(b'[1, "' + b"x" * 5000 + b'"]')
    assert (values, rest[:6], len(rest)) == ([1], b'[0, "x', 5007)


def test_half_a_character_is_not_taken_for_a_whole_one() -> None:
    whole, half = json.dumps({"a": "\N{GRINNING FACE}"}), '{"a": "\\ud83d."}'
    assert [has_half_character(json.loads(text), text) for text in (whole, half, '"\\\\ud83d"')] == [False, True, False]
    assert list(stream_entries(io.BytesIO(f"[{half}]".encode()))) == read_thoroughly(f"[{half}]".encode())


def test_a_value_is_measured_in_values_and_levels() -> None:
    assert measure_value(3) == (1, 0)
    assert measure_value({"a": [1, {"b": []}]}) == (5, 4)

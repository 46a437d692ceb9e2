"""Lines of any file are read one by one, within bounds."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.sources.lines import LineReader, LineUnreadable, RawLine, parse_object


def test_blank_lines_count_and_are_left_out() -> None:
    reader = LineReader(io.BytesIO(b"a\n\n \r\nb"), 10)
    assert list(reader) == [RawLine(1, b"a\n"), RawLine(4, b"b")]
    assert reader.position == 7


def test_a_line_too_long_is_passed_over() -> None:
    reader = LineReader(io.BytesIO(b"a\n" + b"x" * 300_000 + b"\nb\n"), 10)
    assert list(reader) == [RawLine(1, b"a\n"), RawLine(2, None), RawLine(3, b"b\n")]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "longer than 10 bytes"),
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b"[]", "not a JSON object"),
    ],
)
def test_a_line_that_is_no_object_says_why(raw: bytes | None, reason: str) -> None:
    with pytest.raises(LineUnreadable) as failure:
        parse_object(RawLine(2, raw), 10)
    assert reason in failure.value.reason


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert parse_object(RawLine(1, b"\xef\xbb\xbf{}"), 10) == {}
    with pytest.raises(LineUnreadable):
        parse_object(RawLine(2, b"\xef\xbb\xbf{}"), 10)


@given(st.binary(max_size=200), st.integers(1, 20))
def test_no_line_is_longer_than_the_limit_and_none_is_lost(data: bytes, limit: int) -> None:
    reader = LineReader(io.BytesIO(data), limit)
    kept = {line.number: line.raw for line in reader}
    assert reader.position == len(data)
    for number, expected in enumerate(io.BytesIO(data), 1):
        if len(expected.rstrip(b"\n")) > limit:
            assert kept[number] is None
        elif expected.strip():
            assert kept[number] == expected
        else:
            assert number not in kept

"""A change taken out of a later version of a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.domain.notes.edit.line_revert import revert_change

ONE, TWO = b"a\nb\nc\nd\ne\n", b"a\nb\nX\nd\ne\n"


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
    [
        (ONE, TWO, TWO, ONE),
        (ONE, TWO, b"first\n" + TWO + b"last\n", b"first\n" + ONE + b"last\n"),
        (ONE, TWO, b"a\nb\nnew\nX\nnew\nd\ne\n", b"a\nb\nnew\nc\nnew\nd\ne\n"),
        (ONE, TWO, b"a\nB\nX\nD\ne\n", b"a\nB\nc\nD\ne\n"),
        (ONE, TWO, b"a\nb\nY\nd\ne\n", None),
        (ONE, TWO, b"a\nb\nd\ne\n", None),
        (b"a\n", b"a\nadded\n", b"a\nadded\nlater\n", b"a\nlater\n"),
        (b"a\n", b"a\nadded\n", b"a\nadded and changed\n", None),
        (b"a\nb\nc\n", b"a\nc\n", b"0\na\nc\n", b"0\na\nb\nc\n"),
        (b"a\nb\nc\n", b"a\nc\n", b"a\nhere?\nc\n", None),
        (b"a\nb\nc\n", b"a\nc\n", b"a\nC\n", None),
        (b"a", b"a\nb", b"a\nb\nlater", None),
        (b"\xffa\nb\n", b"\xffa\nc\n", b"\xffa\nc\nd\n", b"\xffa\nb\nd\n"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n", b"0\r\na\r\nc\r\n", b"0\r\na\r\nb\r\n"),
    ],
)
def test_what_was_written_since_stays(before: bytes, after: bytes, now: bytes, wanted: bytes | None) -> None:
    assert revert_change(before, after, now) == wanted


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"\n"]), max_size=12)


@settings(max_examples=examples(300), deadline=None)
@given(lines, lines, lines, st.integers(0, 12))
def test_what_was_added_elsewhere_is_still_there(
    before: list[bytes], after: list[bytes], added: list[bytes], at: int
) -> None:
    extra = [b"+" + each for each in added]
    now = [*after[:at], *extra, *after[at:]]
    result = revert_change(b"".join(before), b"".join(after), b"".join(now))
    if result is not None:
        kept = [line for line in result.splitlines(keepends=True) if line.startswith(b"+")]
        assert kept == extra
        assert b"".join(line for line in result.splitlines(keepends=True) if not line.startswith(b"+")) == b"".join(
            before
        )
    elif not extra:
        raise AssertionError("nothing was in the way")

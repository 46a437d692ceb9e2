"""What is remembered of a long note from one edit to the next never stands for another text."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.notes.index import extraction
from vaults.markdown import parser

LONG = b"x" * extraction.MANY_BYTES


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def test_versions_that_differ_in_a_byte_have_digests_of_their_own() -> None:
    versions = [LONG, LONG + b"y", LONG[:-1] + b"y", b"y" + LONG[1:], LONG]
    assert [extraction.compute_digest(each) for each in versions] == [_digest(each) for each in versions]
    assert extraction.compute_digest(bytes(bytearray(LONG))) == _digest(LONG)


def test_no_more_than_two_versions_are_kept() -> None:
    for number in range(5):
        extraction.compute_digest(LONG + str(number).encode())
    assert [data[-1:] for data, _ in extraction._latest] == [b"3", b"4"]


@given(st.lists(st.sampled_from(["# One", "## Two ##", "Three\n===", "# " + "w" * 200, "", "text", "#", "---"])))
def test_an_outline_without_lines_is_the_outline_otherwise(lines: list[str]) -> None:
    text = "\n".join(lines)
    numbered, bare = parser.parse_outline(text), parser.parse_outline_unnumbered(text)
    assert [(each.level, each.text, each.start, each.end) for each in bare.headings] == [
        (each.level, each.text, each.start, each.end) for each in numbered.headings
    ]
    assert (bare.title, bare.body_start) == (numbered.title, numbered.body_start)

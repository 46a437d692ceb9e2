"""Which lines of a text are not as they were."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import python_steps
from vaults.domain.notes.edit.changed_lines import find_changed_region, slice_lines

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
texts = st.text(st.sampled_from("ab\n\r"), max_size=14)


@pytest.mark.parametrize(
    ("before", "after", "lines", "text"),
    [
        ("a\nb\nc\n", "a\nX\nc\n", (2, 2), "X"),
        ("a\nb\n", "a\nb\nc\n", (3, 3), "c"),
        ("a\nb\nc\n", "a\nc\n", (2, 1), ""),
        ("a\r\nb\r\n", "a\r\nbb\r\n", (2, 2), "bb"),
        ("", "a\nb", (1, 2), "a\nb"),
        ("a\nb", "", (1, 0), ""),
        ("- [ ] a", "- [x] a", (1, 1), "- [x] a"),
        ("x\rlong", "x\rlonger", (2, 2), "longer"),
    ],
)
def test_the_lines_that_changed(before: str, after: str, lines: tuple[int, int], text: str) -> None:
    found = find_changed_region(before, after)
    assert ((found.first_line, found.last_line), found.text) == (lines, text)


@given(before=texts, after=texts)
def test_what_stands_outside_stood_there_before(before: str, after: str) -> None:
    found, pieces = find_changed_region(before, after), LINE.findall(after)
    head, tail = "".join(pieces[: found.first_line - 1]), "".join(pieces[found.last_line :])
    assert before.startswith(head)
    assert before.endswith(tail)
    assert found.text == "".join(pieces[found.first_line - 1 : found.last_line]).rstrip("\r\n")


def test_long_texts_are_compared_in_blocks() -> None:
    before = "a line of a long log\n" * 250_000
    after = before[:3_000_000] + "X" + before[3_000_000:]
    found = find_changed_region(before, after)
    assert python_steps(lambda: find_changed_region(before, after)) < 5_000
    assert found.first_line == found.last_line == before.count("\n", 0, 3_000_000) + 1
    assert len(find_changed_region("", before).text) < 5_000


@given(before=texts, after=texts)
def test_lines_of_a_text_are_what_a_region_holds(before: str, after: str) -> None:
    found = find_changed_region(before, after)
    assert slice_lines(after, found.first_line, found.last_line) == found.text

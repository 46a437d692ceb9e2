"""What is added and removed again leaves the note as it was, byte for byte.

Covers vaults.markdown.edit.draft, vaults.markdown.edit.pipeline.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vaults.markdown.edit.draft import TextEdit
from vaults.markdown.edit.pipeline import apply_edit

NOW = datetime(2026, 1, 2, tzinfo=UTC)
NEW = "Entirely new words."

BLOCKS = st.sampled_from(
    ["# One", "## Two", "### Three", "words", "two\nlines", "- item", "- item\n- other", "- loose\n\n- list", "> quote",
     "| a | b |\n| - | - |", "```\ncode\n\nmore\n```", "1. first", "***\n\nrule"]
)  # fmt: skip
GAPS = st.sampled_from(["\n", "\n\n", "\n\n", "\n\n\n"])
NOTES = st.builds(
    lambda front, parts, last: front + "".join(block + gap for block, gap in parts) + last,
    st.sampled_from(["", "", "---\na: b\n---\n", "---\na: b\n---\n\n"]),
    st.lists(st.tuples(BLOCKS, GAPS), max_size=5),
    st.builds(lambda block, end: block + end, BLOCKS, st.sampled_from(["\n", "\n", ""])),
)


def taken_back(text: str, **options: object) -> str:
    added = apply_edit(text, TextEdit("add", **{"section": None, "content": NEW, **options}), NOW).text  # type: ignore[arg-type]
    assert NEW in added
    return apply_edit(added, TextEdit("remove", None, None, search=NEW), NOW).text


@given(NOTES, st.sampled_from(["append", "prepend"]), st.sampled_from(["\n", "\r\n"]))
@example("# T\n\nPara.\n", "append", "\n")
@example("First.\n", "prepend", "\n")
def test_what_was_added_to_a_note_is_removed_without_a_trace(text: str, position: str, newline: str) -> None:
    text = text.replace("\n", newline)
    assert taken_back(text, position=position) == text


OTHERS = NOTES.map(lambda text: text.replace("## Two", "## Other"))


@given(OTHERS, st.sampled_from(["", "\n"]), OTHERS, st.sampled_from(["append", "prepend"]))
def test_and_what_was_added_to_a_section(above: str, gap: str, below: str, position: str) -> None:
    below = below.removeprefix("---\na: b\n---\n").lstrip("\n")
    # Whether a blank line was below an empty section before something was put at its beginning, nothing tells any more.
    assume(position == "append" or not below.startswith("#"))
    text = f"{above.rstrip(chr(10))}\n\n## Two\n{gap}{below}"
    assert taken_back(text, section="## Two", position=position) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n\nX\n\ntwo\n", "one\n\ntwo\n"),
        ("one\n\nX\nmore\n", "one\n\nmore\n"),
        ("one\nX\n\nmore\n", "one\n\nmore\n"),
        ("one\n\nX\n", "one\n"),
        ("X\n\none\n", "one\n"),
        ("# T\n\nX\n\n## U\n", "# T\n\n## U\n"),
        ("- a\n\n- X\n\n- b\n", "- a\n\n- b\n"),
        ("```\na\n\nX\n\nb\n```\n", "```\na\n\n\nb\n```\n"),
        ("one\n\nX\n\nX\n\ntwo\n", "one\n\ntwo\n"),
        ("---\na: b\n---\n\nX\n", "---\na: b\n---\n"),
    ],
)
def test_a_paragraph_takes_one_blank_line_with_it(text: str, expected: str) -> None:
    assert apply_edit(text, TextEdit("remove", None, None, search="X", occurrence="all"), NOW).text == expected

"""Cutting text at its structure, and keeping parts within limits: also ``vaults.formats.part_limits`` and
``vaults.formats.heading_path``."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.formats.heading_path import HeadingPath
from vaults.formats.parsed_document import ParsedPart, ParseLimits
from vaults.formats.part_cutting import cut_text
from vaults.formats.part_limits import clean_line, take_parts


def test_paragraphs_stay_whole_and_know_their_lines() -> None:
    text = "\n\n".join(["one " * 5, "two " * 5, "three " * 5])
    assert [(piece.text.strip()[:5], piece.first_line, piece.last_line) for piece in cut_text(text, 50)] == [
        ("one o", 1, 3),
        ("three", 5, 5),
    ]


def test_a_fence_stays_whole_and_one_too_long_is_fenced_again() -> None:
    fence = "```py\na = 1\n\nb = 2\n```"
    assert fence in [piece.text for piece in cut_text(f"{'word ' * 12}\n\n{fence}\n", 70)]
    pieces = cut_text("```py\n" + "\n".join(f"line {number}" for number in range(20)) + "\n```", 60)
    assert len(pieces) > 2
    assert all(piece.text.startswith("```py\n") and piece.text.endswith("\n```") for piece in pieces)


def test_a_table_is_cut_between_rows_and_repeats_its_header() -> None:
    rows = [f"| {number} | cell |" for number in range(20)]
    pieces = cut_text("\n".join(["| n | what |", "|---|---|", *rows]), 100)
    assert len(pieces) > 2
    assert all(piece.text.startswith("| n | what |\n|---|---|\n| ") for piece in pieces)
    assert [line for piece in pieces for line in piece.text.split("\n")[2:]] == rows


def test_a_long_line_is_cut_after_a_sentence() -> None:
    pieces = cut_text("First sentence here. Second one here. " * 3, 60)
    assert all(piece.text.endswith(".") for piece in pieces)
    assert {(piece.first_line, piece.last_line) for piece in pieces} == {(1, 1)}


@given(st.text("ab .\n|`~-", max_size=300), st.integers(10, 80))
def test_nothing_is_lost_and_nothing_is_longer_than_it_may_be(text: str, size: int) -> None:
    pieces = cut_text(text, size)
    kept = "".join(piece.text for piece in pieces)
    for letter in "ab.":
        assert kept.count(letter) >= text.count(letter)
    assert [piece.first_line for piece in pieces] == sorted(piece.first_line for piece in pieces)
    for piece in pieces:
        repeated = 0 if "|" not in piece.text and "``" not in piece.text and "~~" not in piece.text else 4 * size
        assert len(piece.text) <= size + repeated


def test_parts_are_cleaned_and_end_at_the_limit() -> None:
    warnings: list[str] = []
    parts = [
        ParsedPart("a\x00b\ud800\x0cc"),
        ParsedPart(" \n "),
        ParsedPart("12345", locator="page 2"),
        ParsedPart("x" * 9),
    ]
    taken = take_parts(iter(parts), ParseLimits(characters=10), warnings)
    assert [part.text for part in taken] == ["ab\nc", "12345"]
    assert warnings == ["only the first 2 parts, up to page 2, were read: too long"]


def test_a_line_is_one_line_of_bounded_length() -> None:
    assert clean_line(" a\n\x00b ") == "a b"
    assert clean_line("") is clean_line(" ") is clean_line(None) is None
    assert len(clean_line("x" * 9_999) or "") == 500


def test_a_path_holds_the_headings_above() -> None:
    path = HeadingPath()
    assert path.text is None
    for level, text in ((1, "A"), (3, "B"), (2, "C  c")):
        path.enter(level, text)
    assert (path.text, path.innermost) == ("A › C c", "C c")

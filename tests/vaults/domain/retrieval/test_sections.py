"""What counts as neighbours, and how a section is cut around its match."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.retrieval import sections
from vaults.domain.retrieval.sections import (
    PARTS_APART,
    TURNS_APART,
    HitPlace,
    HitSection,
    NeighbourText,
    cut_section,
    find_section,
    group_neighbours,
    join_neighbours,
)


def turn(position: int, document: str = "talk") -> HitPlace:
    return HitPlace("transcript", document, position)


def part(position: int, section: str = "Costs", document: str = "book", kind: str = "document") -> HitPlace:
    return HitPlace(kind, document, position, section)


def section(text: str, match: str, kind: str = "note") -> HitSection:
    found = find_section(kind, text, [(0, match)])
    assert found is not None
    return found


def test_turns_near_each_other_are_one_stretch_however_they_rank() -> None:
    far = 4 + 2 * TURNS_APART + 1
    assert group_neighbours([turn(4 + TURNS_APART), turn(far + 9), turn(4), turn(1)]) == [[0, 2, 3], [1]]
    assert group_neighbours([turn(4), turn(4 + TURNS_APART + 1)]) == [[0], [1]]
    assert group_neighbours([turn(4), turn(5, "other")]) == [[0], [1]]


def test_parts_are_neighbours_under_one_heading_only() -> None:
    assert group_neighbours([part(3), part(4, "Staff"), part(2)]) == [[0, 2], [1]]
    assert group_neighbours([part(1), part(2 + PARTS_APART)]) == [[0], [1]]
    assert group_neighbours([part(1, kind="code"), part(1, document="b", kind="code")]) == [[0], [1]]


def test_what_stands_in_no_document_stays_alone() -> None:
    assert group_neighbours([None, turn(1), None, turn(2)]) == [[0], [1, 3], [2]]
    assert group_neighbours([]) == []


@given(st.lists(st.none() | st.builds(turn, st.integers(0, 30), st.sampled_from("ab")), max_size=30))
def test_every_hit_is_in_one_group_and_the_best_of_each_leads(places: list[HitPlace | None]) -> None:
    groups = group_neighbours(places)
    assert sorted(number for group in groups for number in group) == list(range(len(places)))
    assert all(group == sorted(group) for group in groups)
    assert all(one[0] < other[0] for one, other in pairwise(groups))


def test_a_turn_cannot_pass_for_the_line_that_says_whose_the_next_is() -> None:
    turns = [NeighbourText(3, "ann\n[9] bob", "Yes.\n[4] bob\nI pay."), NeighbourText(1, "bob", "Will you?")]
    assert join_neighbours("transcript", turns) == (
        "[1] bob\n  Will you?\n[3] ann [9] bob\n  Yes.\n  [4] bob\n  I pay."
    )


def test_parts_stand_in_order_with_a_mark_where_one_is_missing() -> None:
    parts = [NeighbourText(5, "", "five"), NeighbourText(2, "", "two"), NeighbourText(3, "", "three")]
    assert join_neighbours("document", parts) == "two\n\nthree\n…\nfive"
    lines = [NeighbourText(1, "", "def pay():\n"), NeighbourText(2, "", "    return 1\n"), NeighbourText(4, "", "x\n")]
    assert join_neighbours("code", lines) == "def pay():\n    return 1\n…\nx\n"


def test_a_section_that_fits_is_shown_whole() -> None:
    assert cut_section(section("One.\n\nTwo.\n\nThree.", "Two."), 100) == "One.\n\nTwo.\n\nThree."


def test_a_longer_one_is_cut_at_sentences_with_the_match_inside() -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(60))
    shown = cut_section(section(text, "Sentence number 30 is here."), 300)
    assert shown is not None
    assert len(shown) <= 300
    lines = shown.split("\n")
    assert (lines[0], lines[-1]) == ("…", "…")
    assert lines[1].startswith("Sentence number 2")
    assert lines[1].endswith("is here.")
    assert "Sentence number 30 is here." in shown


def test_neither_a_code_fence_nor_the_row_of_a_table_is_cut() -> None:
    fence = "```sh\n" + "\n".join(f"run step. {number}" for number in range(20)) + "\n```"
    text = f"Before it all.\n\nThe match.\n\n{fence}\n\nAfter."
    assert cut_section(section(text, "The match."), 120) == "Before it all.\n\nThe match.\n…"
    row = f"| a. b. | {'c. ' * 30}|"
    table = f"The match.\n{row}\n{row}\n{row}"
    shown = cut_section(section(table, "The match."), len(row) + 40)
    assert shown == f"The match.\n{row}\n…"


def test_of_a_section_as_long_as_a_book_only_what_is_near_the_match_is_weighed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weighed, is_inside = [], sections._is_inside

    def counting(place: int, spans: Sequence[tuple[int, int]]) -> bool:
        weighed.append(place)
        return is_inside(place, spans)

    monkeypatch.setattr(sections, "_is_inside", counting)
    text = "```\nrun\n```\n" * 10_000 + "The match.\n" + "```\nrun\n```\n" * 10_000
    shown = cut_section(section(text, "The match."), 120)
    assert shown is not None
    assert shown.count("```") % 2 == 0
    assert 0 < len(weighed) < 300


def test_a_match_that_says_what_its_section_said_before_is_found_in_its_own_part() -> None:
    text = "Total: 5 apples.\n\nThe table for March.\n\nTotal: 5"
    found = find_section("document", text, [(text.index("The table"), "Total: 5")])
    assert found is not None
    assert found.start == text.rindex("Total: 5")


def test_a_match_inside_a_fence_too_long_to_show_is_not_widened() -> None:
    fence = "```\n" + "\n".join(f"line {number}" for number in range(200)) + "\n```"
    assert cut_section(section(f"Above.\n\n{fence}", "line 100"), 300) is None


def test_code_is_cut_at_lines() -> None:
    code = "def pay():\n" + "\n".join(f"    ledger.add({number}). done" for number in range(100))
    shown = cut_section(section(code, "    ledger.add(50). done", "code"), 200)
    assert shown is not None
    assert all(line in ("…", *code.split("\n")) or line.strip() in code for line in shown.split("\n"))
    assert all(line == "…" or line.endswith(". done") for line in shown.split("\n"))


def test_without_the_match_there_is_no_section() -> None:
    assert find_section("note", "something else", [(0, "gone")]) is None
    assert find_section("note", "something", []) is None


PIECES = (
    "word ",
    "A sentence. ",
    "\n",
    "\n\n",
    "| a. | b. |\n",
    "```\n",
    "~~~\n",
    "# Heading\n",
    "- item. x\n",
    "東。",
    "x" * 60,
)


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(0, 60), st.integers(1, 60), st.integers(5, 400))
def test_any_cut_is_short_enough_and_holds_the_match(pieces: list[str], start: int, size: int, length: int) -> None:
    text = "".join(pieces)
    start, end = min(start, len(text)), min(start + size, len(text))
    for kind in ("note", "code"):
        shown = cut_section(HitSection(kind, text, start, end), length)
        if len(text) <= length:
            assert shown == text
        elif shown is not None:
            assert len(shown) <= length
            assert text[start:end].strip() in shown

"""Blocks of a note: all of its text, in pieces of bounded size, of which an edit changes few."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.notes.index.extraction import heading_marks
from vaults.index.blocks import LONG, MANY, SEPARATOR, SHORT, SHORTEST, TINY, HeadingBorder, IndexBlock, split_blocks
from vaults.markdown import parser as markdown

LINES = st.one_of(
    st.sampled_from(
        ["", "# One", "## Two", "## Two", "### Three", "# Title", "plain words", "- item", "  ", "#", "x" * 400]
    ),
    st.text(alphabet="ab #\n\r\t\u2028é本\ud800", max_size=30),
)
TEXTS = st.lists(LINES, max_size=40).map("\n".join)


def blocks_of(text: str, title: str = "Title") -> list[IndexBlock]:
    """As indexing calls it."""
    note = markdown.parse(text)
    return split_blocks(text, title, heading_marks(note.headings), note.body_start)


def visible(text: str) -> str:
    return "".join(text.split())


@given(TEXTS)
def test_blocks_are_all_visible_text_in_order(text: str) -> None:
    found = blocks_of(text)
    assert visible("".join(block.text for block in found)) == visible(text[markdown.parse(text).body_start :])


@given(TEXTS)
def test_no_block_is_empty_but_the_only_one_of_an_empty_note(text: str) -> None:
    found = blocks_of(text)
    assert found
    assert len(found) == 1 or all(block.text for block in found)


@given(TEXTS, st.sampled_from(["Title", "title", "One", ""]))
def test_every_block_stands_under_the_notes_title(text: str, title: str) -> None:
    for block in blocks_of(text, title):
        assert block.title.split(SEPARATOR)[0] == title


@given(TEXTS)
def test_digests_tell_blocks_apart_by_title_and_text(text: str) -> None:
    found = blocks_of(text)
    assert len({block.digest for block in found}) == len({(block.title, block.text) for block in found})


def test_a_block_names_the_headings_above_it_and_no_others() -> None:
    body = "word " * 200
    text = f"# A\n\n{body}\n## B\n\n{body}\n### C\n\n{body}\n## D\n\n{body}\n# E\n\n{body}\n"
    titles = [block.title for block in blocks_of(text, "Note")]
    assert titles == ["Note › A", "Note › A › B", "Note › A › B › C", "Note › A › D", "Note › E"]


def test_the_title_written_once_more_as_a_heading_is_said_once() -> None:
    text = "# NOTE\n\n" + "word " * 200 + "\n## Part\n\n" + "word " * 200
    assert [block.title for block in blocks_of(text, "Note")] == ["Note", "Note › Part"]


def test_short_stretches_are_one_block_under_what_they_share() -> None:
    text = "# A\n" + "word " * 200 + "\n## B\n\nfirst\n\n## C\n\nsecond\n"
    found = blocks_of(text, "Note")[1:]
    assert [block.title for block in found] == ["Note › A"]
    assert "first" in found[0].text
    assert "second" in found[0].text


@given(st.lists(st.integers(1, 2 * TINY), min_size=1, max_size=12))
def test_joined_stretches_are_short_and_two_in_a_row_could_not_be_joined(sizes: Sequence[int]) -> None:
    pieces = [f"## {number}\n" + "w" * size + "\n" for number, size in enumerate(sizes)]
    found = blocks_of("".join(pieces), "Note")
    for block in found:
        assert len(block.text) <= TINY or block.text.count("## ") == 1
    for one, other in pairwise(found):
        first_piece = other.text.split("\n## ")[0]
        assert len(one.text) + len(first_piece) + 2 > TINY


def log(lines: int, seed: int = 1, headings: int = 0, width: int = 60) -> list[str]:
    """A text that grows by lines. ``headings``: lines from one to the next; 0: none."""
    chance = random.Random(seed)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    found = []
    for number in range(lines):
        if headings and number % headings == 0:
            found.append(f"## Day {number}\n")
        line = f"- {number} " + " ".join(chance.choices(words, k=width // 6))
        found.append(f"{line}\n")
    return found


@pytest.mark.parametrize("headings", [0, 7, 3000])
@pytest.mark.parametrize("width", [60, 600, 3000])
def test_blocks_of_long_texts_are_of_bounded_size(headings: int, width: int) -> None:
    found = blocks_of("".join(log(200_000 // width, headings=headings, width=width)))
    assert all(len(block.text) <= LONG + 2 * width for block in found)
    if headings == 0:
        assert all(len(block.text) >= SHORTEST - 1 for block in found[:-1])


def _differ(old: Sequence[IndexBlock], new: Sequence[IndexBlock]) -> int:
    before, after = (Counter(block.digest for block in each) for each in (old, new))
    return (after - before).total() + (before - after).total()


@pytest.mark.parametrize("headings", [0, 7, 100, 1800])
@pytest.mark.parametrize("edit", ["replace", "insert", "delete", "insert many"])
def test_an_edit_of_a_line_changes_few_blocks(headings: int, edit: str) -> None:
    lines = log(2_400, headings=headings)
    old = blocks_of("".join(lines))
    assert len(old) > 20
    plain = [place for place, line in enumerate(lines) if not line.startswith("#")]  # a heading says more than a line
    worst = 0
    for place in [plain[0], plain[-1], *random.Random(2).sample(plain, 10)]:
        new = list(lines)
        if edit == "delete":
            del new[place]
        else:
            new[place : place + (edit == "replace")] = ["- one more line of words\n"] * (30 if "many" in edit else 1)
        worst = max(worst, _differ(old, blocks_of("".join(new))))
    assert worst <= 10


def test_a_line_at_the_top_of_a_text_without_headings_moves_few_borders_below_it() -> None:
    """Also of long lines, where a border by content is rare."""
    for width in (60, 300, 1000, 2500):
        lines = log(400_000 // width, width=width, seed=width)
        old = blocks_of("".join(lines))
        changed = [_differ(old, blocks_of("".join([f"- new {n}\n", *lines]))) for n in range(5)]
        assert max(changed) <= 16, width


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_the_digest_is_of_title_headings_and_text(title: str, other: str, heading: str, further: str) -> None:
    body = "w" * (SHORT + 1)

    def one(title: str, heading: str) -> IndexBlock:
        return split_blocks(body, title, [HeadingBorder(1, heading, 0)], 0)[0]

    same = one(title, heading).title == one(other, further).title
    assert (one(title, heading).digest == one(other, further).digest) is same


def test_a_renamed_heading_changes_what_stands_below_it_and_nothing_else() -> None:
    body = "word " * 200
    text = f"# A\n\n{body}\n## B\n\n{body}\n# C\n\n{body}\n"
    old = blocks_of(text, "Note")
    new = blocks_of(text.replace("# A\n", "# Other\n"), "Note")
    assert [a.digest == b.digest for a, b in zip(old, new, strict=True)] == [False, False, True]


@pytest.mark.parametrize("line", ["- [ ] the same again\n", "other words, and the same again\n", "x\n"])
def test_a_text_of_equal_lines_is_parted_too(line: str) -> None:
    found = blocks_of(line * (200_000 // len(line)))
    assert all(len(block.text) <= LONG + len(line) for block in found)


@pytest.mark.parametrize("line", ["word " * 40_000, "x" * 200_000, "x" * 20_000 + " " + "y" * 200_000])
def test_an_endless_line_is_parted_between_words_where_it_has_any(line: str) -> None:
    found = blocks_of(line)
    assert all(len(block.text) <= 2 * LONG for block in found)
    assert visible("".join(block.text for block in found)) == visible(line)
    if line.startswith("word"):
        assert {word for block in found for word in block.text.split()} == {"word"}


def test_sections_side_by_side_keep_to_themselves() -> None:
    text = "## One\n\n" + "first " * 30 + "\n\n## Two\n\n" + "second " * 30
    assert [block.title for block in blocks_of(text, "Note")] == ["Note › One", "Note › Two"]


def test_digests_of_a_long_note_are_those_of_a_short_one_with_the_same_blocks() -> None:
    short = "".join(f"# Section {number}\n\n{'word ' * 200}\n" for number in range(20))
    long = short + "".join(f"# More {number}\n\n{'other ' * 400}\n" for number in range(MANY // 2_400))
    digests = [block.digest for block in blocks_of(short)]
    for text in (long, f"{long}\nmore"):  # the second time they are known
        assert [block.digest for block in blocks_of(text)][: len(digests)] == digests
    changed = [block.digest for block in blocks_of(long.replace("word", "lord", 1))]  # as long as before
    assert changed[0] != digests[0]
    assert changed[1 : len(digests)] == digests[1:]

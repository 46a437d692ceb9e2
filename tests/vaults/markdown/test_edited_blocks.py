"""What is found from an edit outwards is what reading the whole text finds.

Covers vaults.markdown.edited_blocks.
"""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from vaults.markdown import edited_blocks
from vaults.markdown.blocks import find_blocks
from vaults.markdown.edited_blocks import ReadText, find_after_edit, find_blocks_again

FAR = "\n".join(f"# far {number}\n\nsome words of no interest at all, in one line\n" for number in range(12))
"""What stands around an edit: where most of a text is near it, all of it is read."""

BODIES = ["# one", "## two ##", "#", "text", "===", "---", "- item", "-", "> quoted", "```", "~~~", "    code", "", ""]
UNSURE = ["%%", "%% said %%", "<div>", "<!--", "-->"]
LINES = st.lists(st.sampled_from([*BODIES, *UNSURE]), max_size=6)


def as_read(text):
    lines = f"\n{text}\n"
    return ReadText(lines, 0, find_blocks(lines, 0))


def put_between(lines):
    return "\n".join([FAR, "# above", *lines, "# below", FAR])


@settings(max_examples=150, deadline=None)
@given(LINES, LINES)
def test_reading_from_an_edit_outwards_finds_what_reading_all_finds(was, now):
    before, after = as_read(put_between(was)), as_read(put_between(now))
    assert find_after_edit(before, after.text, 0) in (None, after.found)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(BODIES), max_size=8), st.data())
def test_so_it_does_for_an_edit_anywhere_in_a_text_of_any_lines(lines, data):
    text = "\n".join([FAR, *lines, FAR])
    at = data.draw(st.integers(0, len(text)))
    end = min(len(text), at + data.draw(st.integers(0, 3)))
    before = as_read(text)
    after = as_read(
        text[:at] + data.draw(st.sampled_from(["", "x", "#", "\n", "`", "```\n", "-", "%", "<"])) + text[end:]
    )
    assert find_after_edit(before, after.text, 0) in (None, after.found)


def test_a_plain_edit_needs_no_more_than_the_lines_between_headings_around_it(monkeypatch):
    before, after = as_read(put_between(["text"])), as_read(put_between(["text", "more"]))
    asked = []
    monkeypatch.setattr(
        edited_blocks, "find_blocks", lambda text, start: asked.append(text) or find_blocks(text, start)
    )
    assert find_after_edit(before, after.text, 0) == after.found
    assert asked == ["\n# above\ntext\nmore\n# below\n# far 0\n"]


def test_an_opened_fence_is_seen_to_swallow_the_headings_below_it():
    before, after = as_read(put_between(["text"])), as_read(put_between(["```"]))
    assert find_after_edit(before, after.text, 0) is None


def test_a_mark_whose_other_half_may_lie_anywhere_has_all_of_it_read():
    for sign in UNSURE[:4]:
        assert find_after_edit(as_read(put_between(["text"])), as_read(put_between([sign])).text, 0) is None


def test_long_texts_are_found_again_edit_after_edit(monkeypatch):
    monkeypatch.setattr(edited_blocks, "LONG", 0)
    for text in accumulate(["more"] * 4, lambda text, line: f"{text}\n{line}", initial=put_between(["text"])):
        assert find_blocks_again(f"\n{text}\n", 0) == find_blocks(f"\n{text}\n", 0)

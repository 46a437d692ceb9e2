"""Random edits of random notes: whatever is edited, nothing else changes.

Covers vaults.markdown.edit.outline.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.work import assert_linear, examples
from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.markdown.edit.draft import EditDraft, TextEdit
from vaults.markdown.edit.outline import read_outline
from vaults.markdown.edit.pipeline import STEPS, apply_edit
from vaults.markdown.parser import parse

NOW = datetime(2026, 11, 22, 14, 5)  # noqa: DTZ001

NAMES = ("Log", "Notes", "A > B", "Über")
LINES = st.one_of(
    st.builds(lambda level, name: f"{'#' * level} {name}", st.integers(1, 6), st.sampled_from(NAMES)),
    st.sampled_from(
        (
            "", "", "  ", "text", "more words here", "- a", "- b", "  - nested", "\t- tabbed", "* star", "1. one",
            "2. two", "- [ ] task", "> quote", "| a | b |", "```", "```py", "~~~", "    code", "---", "===", "<!--",
            "-->", "%%", "• odd", "Title", "trailing  ", "# ", "#tag", "- ```", "  ```", "\u2028line", "\x0cfeed",
            "a\u00a0b", "<pre>", "</pre>",
        )
    ),
    st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=12),
)  # fmt: skip
ENDINGS = st.sampled_from(("\n", "\n", "\n", "\r\n", "\r"))
FRONTMATTER = st.sampled_from(
    ("", "", "---\ntitle: a\n---\n", "---\r\n# c\r\ntags: [a]\r\n---\r\n", "---\n", "---\na: 1\n---")
)


@st.composite
def notes(draw: st.DrawFn) -> str:
    lines = draw(st.lists(LINES, max_size=25))
    one = draw(st.one_of(st.none(), ENDINGS))
    text = "".join(line + (one or draw(ENDINGS)) for line in lines)
    if lines and draw(st.booleans()):
        text = text.rstrip("\r\n")
    return draw(FRONTMATTER) + text


def contents() -> st.SearchStrategy[str]:
    return st.lists(LINES, min_size=1, max_size=5).map("\n".join)


@st.composite
def edits(draw: st.DrawFn) -> TextEdit:
    action = draw(st.sampled_from(("add", "add", "remove", "replace")))
    options: dict[str, Any] = {
        "format": draw(st.sampled_from(("plain", "bullet", "task", "numbered", "timestamp-bullet"))),
        "position": draw(st.sampled_from(("append", "prepend"))),
        "occurrence": draw(st.sampled_from(("first", "last", "all"))),
        "guardrails": draw(st.sampled_from(("warn", "warn", "strict", "off"))),
        "preserve_nesting": draw(st.booleans()),
        "create_section": draw(st.booleans()),
    }
    if action != "add":
        search = st.one_of(st.none(), LINES, contents(), st.sampled_from(("a", "e", "-", "text")))
        options["search"] = draw(search)
        if options["search"] is None:
            options["pattern"] = draw(
                st.sampled_from((None, None, "^", "$", "a|e", r"\n", "^$", r"^#+ .*", "(?s).+", "x*"))
            )
    section = draw(st.one_of(st.none(), st.sampled_from((*NAMES, "## Log", "log", "Missing"))))
    content = draw(contents()) if action != "remove" else None
    return TextEdit(action, section, content, **options)


@given(notes(), edits())
@settings(max_examples=examples(300), deadline=None)
@example("", TextEdit("add", None, "x"))
@example("# Log\n\n# Log\n\n# Log", TextEdit("remove", None, None, pattern="^#+ .*", occurrence="all"))
def test_nothing_but_the_region_changes(text: str, edit: TextEdit) -> None:
    try:
        edited = apply_edit(text, edit, NOW)
    except (InvalidArgument, NotFound, TooLarge):
        return
    body = read_outline(text).body_start
    assert edited.text[:body].rstrip("\r\n") == text[:body].rstrip("\r\n")
    old, new = _lines(text), _lines(edited.text)
    before, behind = edited.first_line - 1, len(new) - edited.last_line
    assert new[:before] == old[:before]
    assert behind >= 0
    assert new[edited.last_line :] == old[len(old) - behind :]
    if text[body:].strip("\r\n") and edited.text[body:].strip("\r\n") and not edit.searches:
        assert text.endswith(("\r", "\n")) == edited.text.endswith(("\r", "\n"))


def _lines(text: str) -> list[str]:
    lines = re.split(r"\r\n|\n|\r", text)
    return lines[:-1] if not lines[-1] else lines


@given(notes(), edits())
@settings(max_examples=examples(150), deadline=None)
def test_the_result_is_the_old_text_but_for_the_splices(text: str, edit: TextEdit) -> None:
    draft = EditDraft(edit, NOW, text)
    try:
        for step in STEPS:
            draft = step(draft)
    except (InvalidArgument, NotFound, TooLarge):
        return
    kept, at = [], 0
    for splice in draft.splices:
        assert at <= splice.start <= splice.end <= len(text)
        assert splice.start >= min(draft.outline.body_start, len(text.rstrip("\r\n")))
        kept.append(text[at : splice.start])
        at = splice.end
    kept.append(text[at:])
    rest = draft.result
    for index, part in enumerate(kept):
        assert rest.startswith(part)
        rest = rest[len(part) :]
        if index < len(draft.splices):
            assert rest.startswith(draft.splices[index].new)
            rest = rest[len(draft.splices[index].new) :]
    assert rest == ""


@given(notes(), st.sampled_from(("bullet", "task", "timestamp-bullet")), st.sampled_from((None, *NAMES)))
@settings(max_examples=examples(150), deadline=None)
def test_an_item_added_to_a_list_and_removed_again_leaves_no_trace(text: str, shape: Any, section: str | None) -> None:
    text = f"{text}\n\n- item\n"
    try:
        added = apply_edit(text, TextEdit("add", section, "unique7", format=shape, guardrails="off"), NOW)
    except (InvalidArgument, NotFound):
        return
    if added.region.count("\n") == 0 and added.text.count("\n") + added.text.count("\r") == _endings(text) + 1:
        removed = apply_edit(added.text, TextEdit("remove", None, None, search="unique7", guardrails="off"), NOW)
        assert removed.text == text


def _endings(text: str) -> int:
    return text.count("\n") + text.count("\r")


@given(notes(), st.sampled_from(("plain", "bullet", "numbered")), st.sampled_from(("append", "prepend")))
@settings(max_examples=examples(150), deadline=None)
def test_a_line_added_leaves_the_headings_as_they_are(text: str, shape: Any, position: Any) -> None:
    before = read_outline(text)
    for section in (None, *NAMES):
        try:
            edited = apply_edit(text, TextEdit("add", section, "unique7", format=shape, position=position), NOW)
        except (InvalidArgument, NotFound):
            continue
        if edited.warnings:
            continue
        after = read_outline(edited.text)
        assert [(mark.level, mark.text) for mark in after.marks] == [(mark.level, mark.text) for mark in before.marks]


@given(notes())
@settings(max_examples=examples(150), deadline=None)
def test_the_outline_is_that_of_the_whole_parse(text: str) -> None:
    note, quick = parse(text), read_outline(text)
    assert quick.body_start == note.body_start
    assert [(mark.level, mark.text, mark.start) for mark in quick.marks] == [
        (heading.level, heading.text, heading.start) for heading in note.headings
    ]
    assert quick.note(text).headings == note.headings


@pytest.mark.parametrize("line", ["```\n", "# a\n", "- a\n", "<!--\n", " " * 10])
@pytest.mark.parametrize("section", [None, "a"])
def test_time_stays_linear_in_odd_notes(line: str, section: str | None) -> None:
    def edited(text: str) -> None:
        for edit in (
            TextEdit("add", section, "x"),
            TextEdit("replace", section, "y", search="missing words"),
            TextEdit("remove", None, "a"),
        ):
            with suppress(InvalidArgument, NotFound):
                apply_edit(text, edit, NOW)

    assert_linear(edited, lambda lines: line * (lines | 1), 2_500)

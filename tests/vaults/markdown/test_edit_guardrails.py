"""What an edit repairs, warns of or refuses.

Covers vaults.markdown.edit.checks, vaults.markdown.edit.content_repairs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import EditedText, TextEdit
from vaults.markdown.edit.pipeline import apply_edit

NOW = datetime(2026, 11, 22, 14, 5)  # noqa: DTZ001


def edit(text: str, content: str | None, **options: Any) -> EditedText:
    return apply_edit(
        text, TextEdit(options.pop("action", "add"), options.pop("section", "Log"), content, **options), NOW
    )


@pytest.mark.parametrize(
    ("content", "options", "repaired", "word"),
    [
        ("• a\n  ◦ b", {}, "- a\n  - b", "bullets"),
        ("– a", {}, "- a", "bullets"),
        ("12:30 lunch", {"format": "timestamp-bullet"}, "- 12:30 lunch", "time"),
        ("**9:05** - coffee", {"format": "timestamp-bullet"}, "- 9:05 coffee", "time"),
        ("# Log\nx", {}, "x", "heading"),
        ("```\nx", {}, "```\nx", "fence"),
        ("---\na: 1\n---", {}, "---\na: 1\n---", "frontmatter"),
    ],
)
def test_odd_content_is_repaired_or_refused(content: str, options: dict[str, Any], repaired: str, word: str) -> None:
    edited = edit("# Log\n", content, **options)
    assert edited.text == f"# Log\n{repaired}\n"
    assert any(word in warning for warning in edited.warnings)
    with pytest.raises(InvalidArgument, match=word):
        edit("# Log\n", content, guardrails="strict", **options)


def test_code_is_never_repaired() -> None:
    content = "```\n• a\n* b\n```"
    edited = edit("# Log\n- a\n", content, guardrails="strict")
    assert content in edited.text
    assert edited.warnings == []


def test_bullets_become_those_of_the_note() -> None:
    assert edit("# Log\n- a\n", "* b").text == "# Log\n- a\n- b\n"
    assert edit("# Log\n* a\n", "• b").text == "# Log\n* a\n* b\n"
    assert edit("# Log\n", "* b").text == "# Log\n* b\n"
    assert edit("- a\n# Log\n", "* b").text == "- a\n# Log\n- b\n"


def test_off_takes_the_content_as_it_is() -> None:
    edited = edit("# Log\n- a\n", "* b\n\n• c\n\n```", guardrails="off")
    assert edited.text == "# Log\n- a\n* b\n\n• c\n\n```\n"
    assert edited.warnings == []
    stamped = edit("# Log\n", "12:30 x", guardrails="off", format="timestamp-bullet")
    assert stamped.text == "# Log\n- 14:05 12:30 x\n"


def test_several_matches_are_a_doubt() -> None:
    options: dict[str, Any] = {"action": "replace", "section": None, "search": "a"}
    edited = edit("a\nb a\n", "c", **options)
    assert edited.text == "c\nb a\n"
    assert edited.warnings == ["search matches 2 times (lines 1, 2): only the first was changed"]
    with pytest.raises(InvalidArgument, match="2 times"):
        edit("a\nb a\n", "c", guardrails="strict", **options)
    assert edit("a\nb a\n", "c", occurrence="all", **options).warnings == []


def test_an_edit_that_changes_nothing_says_so() -> None:
    edited = edit("a\n", "a", action="replace", section=None, search="a")
    assert edited.text == "a\n"
    assert "Nothing changed" in edited.warnings[0]
    assert (edited.region, edited.last_line) == ("", edited.first_line - 1)


def test_a_fence_left_open_is_seen_wherever_it_comes_from() -> None:
    text = "```\ncode\n```\n\n# After\n"
    edited = edit(text, None, action="remove", section=None, search="```", occurrence="last")
    assert "code fence open (line 1)" in edited.warnings[0]
    with pytest.raises(InvalidArgument, match="fence"):
        edit(text, None, action="remove", section=None, search="```", occurrence="last", guardrails="strict")
    assert "never closed (line 3)" in edit("# Log\ntext\n```\ncode\n", "x").warnings[0]


def test_headings_lost_to_a_comment_are_named() -> None:
    edited = edit("# Log\n\n# After\ntext\n\n-->\n", "<!--\n# x", section="Log")
    assert any("'After'" in warning for warning in edited.warnings)


def test_headings_gained_from_code_are_named() -> None:
    text = "  ```\n# Log\n  ```\n"
    edited = edit(text, "x", section=None, format="bullet", position="prepend")
    assert any("makes 1 of the note's other lines headings: 'Log'" in warning for warning in edited.warnings)


@pytest.mark.parametrize("guardrails", ["warn", "strict", "off"])
def test_no_edit_makes_or_unmakes_frontmatter(guardrails: Any) -> None:
    with pytest.raises(InvalidArgument, match="frontmatter"):
        edit("text\n", "---\na: 1\n---", section=None, position="prepend", guardrails=guardrails)
    with pytest.raises(InvalidArgument, match="frontmatter"):
        edit("---\n\n# Log\n", "x\n\n---\n\ny", guardrails=guardrails)

"""Adding to a note: where the content goes, and in what shape.

Covers vaults.markdown.edit.formats, vaults.markdown.edit.insertion_points, vaults.markdown.edit.line_endings,
vaults.markdown.edit.list_items, vaults.markdown.edit.section_lookup.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from vaults.errors import InvalidArgument, NotFound
from vaults.markdown.edit.draft import EditedText, TextEdit
from vaults.markdown.edit.pipeline import apply_edit

NOW = datetime(2026, 11, 22, 14, 5)  # noqa: DTZ001


def add(text: str, content: str, section: str | None = "Log", **options: Any) -> EditedText:
    return apply_edit(text, TextEdit("add", section, content, **options), NOW)


@pytest.mark.parametrize(
    ("text", "content", "options", "expected"),
    [
        ("# Log\n- a\n", "- b", {}, "# Log\n- a\n- b\n"),
        ("# Log\n- a\n", "b", {"format": "bullet"}, "# Log\n- a\n- b\n"),
        ("# Log\n* a\n", "b", {"format": "bullet"}, "# Log\n* a\n* b\n"),
        ("# Log\n- a\n\n\n# Next\n", "b", {"format": "bullet"}, "# Log\n- a\n- b\n\n\n# Next\n"),
        ("# Log\n- a\n\n- b\n", "c", {"format": "bullet"}, "# Log\n- a\n\n- b\n\n- c\n"),
        ("# Log\n- a", "b", {"format": "bullet"}, "# Log\n- a\n- b"),
        ("# Log\r\n- a\r\n", "b\nc", {"format": "bullet"}, "# Log\r\n- a\r\n- b\r\n  c\r\n"),
        ("# Log\r- a\r", "b", {"format": "bullet"}, "# Log\r- a\r- b\r"),
        ("# Log\n- a\n## Sub\n- x\n", "b", {"format": "bullet"}, "# Log\n- a\n- b\n## Sub\n- x\n"),
        ("# Log\n\ntext\n", "more", {}, "# Log\n\ntext\n\nmore\n"),
        ("# Log\n- a\n", "text", {}, "# Log\n- a\n\ntext\n"),
        ("# Log\n| a |\n|---|\n| 1 |\n", "| 2 |", {}, "# Log\n| a |\n|---|\n| 1 |\n| 2 |\n"),
        ("# Log\n", "x", {}, "# Log\nx\n"),
        ("# Log", "x", {}, "# Log\nx"),
        ("# Top\n\n# Log\n", "x", {}, "# Top\n\n# Log\n\nx\n"),
        ("# Top\n\ntext\n\n# Log\n\n# Next\n", "x", {}, "# Top\n\ntext\n\n# Log\n\nx\n\n# Next\n"),
        ("# Log\nTitle\n===\n", "x", {}, "# Log\nx\n\nTitle\n===\n"),
        ("# Log\n\n- a\n", "b", {"format": "bullet", "position": "prepend"}, "# Log\n\n- b\n- a\n"),
        ("# Log\nold\n", "new", {"position": "prepend"}, "# Log\nnew\n\nold\n"),
        ("# Log\n", "\n\nx  \n\n\n", {}, "# Log\nx\n"),
    ],
)
def test_content_becomes_a_block_of_the_section(
    text: str, content: str, options: dict[str, Any], expected: str
) -> None:
    assert add(text, content, **options).text == expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("", {}, "x\n"),
        ("a", {}, "a\n\nx"),
        ("---\nt: 1\n---\n# T\ntext\n", {"position": "prepend"}, "---\nt: 1\n---\nx\n\n# T\ntext\n"),
        ("---\nt: 1\n---\n# T\n- a\n\n", {"format": "bullet"}, "---\nt: 1\n---\n# T\n- a\n- x\n\n"),
        ("---\nt: 1\n---", {}, "---\nt: 1\n---\nx"),
        ("---\nt: 1\n---\n\n", {}, "---\nt: 1\n---\n\nx\n"),
    ],
)
def test_without_a_section_the_whole_note_is_meant(text: str, options: dict[str, Any], expected: str) -> None:
    assert add(text, "x", None, **options).text == expected


@pytest.mark.parametrize(
    ("content", "format_", "expected"),
    [
        ("x", "task", "- [ ] x"),
        ("[x] done", "task", "- [x] done"),
        ("- [x] done", "task", "- [x] done"),
        ("x", "numbered", "1. x"),
        ("- a\n- b\n  more", "numbered", "1. a\n2. b\n   more"),
        ("x\ny", "timestamp-bullet", "- 14:05 x\n  y"),
        ("- a\n- b", "bullet", "- a\n- b"),
        ("a\n\n```\ncode\n```", "bullet", "- a\n\n  ```\n  code\n  ```"),
        ("- a\n  - deep", "task", "- [ ] a\n  - deep"),
    ],
)
def test_formats(content: str, format_: Any, expected: str) -> None:
    assert add("# Log\n", content, format=format_).text == f"# Log\n{expected}\n"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("1. a\n2. b", "3. x"),
        ("1) a", "2) x"),
        ("1. a\n1. b", "1. x"),
        ("7. a\n   more", "8. x"),
        ("- a", "1. x"),
        ("1. a\n   - b", "2. x"),
        ("- a\n  1. b\n  2. c", "  3. x"),
    ],
)
def test_numbers_continue_the_list(items: str, expected: str) -> None:
    assert add(f"# Log\n{items}\n", "x", format="numbered").text == f"# Log\n{items}\n{expected}\n"


@pytest.mark.parametrize(
    ("items", "nested", "top"),
    [
        ("- a\n  - b", "  - x", "- x"),
        ("- a\n\t- b", "\t- x", "- x"),
        ("- a\n    - b\n      more", "    - x", "- x"),
        ("1. a\n   1. b\n   2. c", "   - x", "- x"),
        ("- a\n  - b\n\n    text", "  - x", "- x"),
        ("- a\n  ```\n  - no item\n  ```", "- x", "- x"),
    ],
)
def test_nesting_is_kept(items: str, nested: str, top: str) -> None:
    text = f"# Log\n{items}\n"
    assert add(text, "x", format="bullet").text == f"{text}{nested}\n"
    assert add(text, "- x", preserve_nesting=False).text == f"{text}{top}\n"


def test_nested_content_takes_the_indentation_of_the_list() -> None:
    assert add("# Log\n- a\n\t- b\n", "- x\n  - y\n    - z").text == "# Log\n- a\n\t- b\n\t- x\n\t\t- y\n\t\t\t- z\n"


def test_headings_nest_below_the_section_but_not_in_code() -> None:
    content = "# One\n\n```\n# code\n```\n\nTwo\n---\ntext\n\n###### Six"
    edited = add("## Log\n", content)
    assert edited.text == "## Log\n### One\n\n```\n# code\n```\n\n#### Two\ntext\n\n###### Six\n"
    assert any("six levels" in warning for warning in edited.warnings)
    assert add("## Log\n", "# One", guardrails="off").text == "## Log\n# One\n"


def test_a_missing_section_is_made_when_asked_for() -> None:
    edited = add("# T\ntext\n", "x", "New", create_section=True)
    assert edited.text == "# T\ntext\n\n## New\nx\n"
    assert edited.warnings == ["The section 'New' was missing and has been made."]
    assert add("# T\n\n# U\n", "x", "T > New", create_section=True).text == "# T\n\n## New\n\nx\n\n# U\n"
    made = add("# T\n1. a\n   2. b\n", "x", "New", create_section=True, format="numbered")
    assert made.text == "# T\n1. a\n   2. b\n\n## New\n1. x\n"
    assert add("", "x", "#### New", create_section=True).text == "#### New\nx\n"
    with pytest.raises(NotFound):
        add("# T\n", "x", "No > New", create_section=True)
    with pytest.raises(InvalidArgument):
        add("# T\n", "x", "two\nlines", create_section=True)


def test_a_section_that_cannot_be_told_is_an_error_that_helps() -> None:
    with pytest.raises(NotFound) as missing:
        add("# Logs\n", "x", "Lgos")
    assert missing.value.details["closest"] == ["Logs"]
    with pytest.raises(InvalidArgument, match="1, 3") as doubled:
        add("# Log\n\n# Log\n", "x")
    assert doubled.value.details["field"] == "section"


def test_the_region_is_what_changed() -> None:
    edited = add("# Log\n- a\n\n# Next\n", "b\nc", format="bullet")
    assert (edited.first_line, edited.last_line, edited.region) == (3, 4, "- b\n  c")
    edited = add("# Log\n- a", "b", format="bullet")
    assert (edited.first_line, edited.last_line, edited.region) == (3, 3, "- b")
    assert len(add("# Log\n", "x" * 100_000).region) < 5_000

"""Removing and replacing: what is found, what goes, what stays.

Covers vaults.markdown.edit.arguments, vaults.markdown.edit.diagnosis, vaults.markdown.edit.results,
vaults.markdown.edit.text_search, vaults.markdown.fuzzy.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from vaults.errors import InvalidArgument, NotFound, TooLarge
from vaults.markdown.edit import text_search
from vaults.markdown.edit.draft import EditedText, TextEdit
from vaults.markdown.edit.pipeline import apply_edit

NOW = datetime(2026, 11, 22, 14, 5)  # noqa: DTZ001


def remove(text: str, search: str | None = None, section: str | None = None, **options: Any) -> EditedText:
    return apply_edit(text, TextEdit("remove", section, None, search=search, **options), NOW)


def swap(text: str, search: str | None, new: str | None, section: str | None = None, **options: Any) -> EditedText:
    return apply_edit(text, TextEdit("replace", section, None, search=search, replacement=new, **options), NOW)


@pytest.mark.parametrize(
    ("text", "search", "options", "expected"),
    [
        ("- a\n- bee\n- c\n", "be", {}, "- a\n- c\n"),
        ("- a\n- b", "b", {}, "- a"),
        ("a\n\nb", "b", {}, "a"),
        ("x\na\nx\nx\n", "x", {"occurrence": "all"}, "a\n"),
        ("x\na\nx", "x", {"occurrence": "all"}, "a"),
        ("x1\na\nx2\n", "x", {"occurrence": "last"}, "x1\na\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", {}, "c\r\n"),
        ("a\rb\rc\r", "b", {}, "a\rc\r"),
        ("a\nb\nc\n", "\nb\n", {}, "a\nc\n"),
        ("a\nb\nc\n", "b\n", {}, "a\nc\n"),
        ("one two\nthree\nfour\n", "two\nth", {}, "four\n"),
        ("x x\nx\n", "x", {"occurrence": "all"}, ""),
    ],
)
def test_lines_are_removed_whole(text: str, search: str, options: dict[str, Any], expected: str) -> None:
    assert remove(text, search, **options).text == expected


def test_content_stands_for_search_when_something_is_removed() -> None:
    assert apply_edit("- a\n- b\n", TextEdit("remove", None, "- b"), NOW).text == "- a\n"


def test_patterns_remove_lines_too() -> None:
    text = "- [x] one\n- [ ] two\n\n- [x] three\n"
    assert remove(text, pattern=r"^- \[x\]", occurrence="all").text == "- [ ] two\n"
    assert remove(text, pattern="^$", occurrence="first").text == "- [x] one\n- [ ] two\n- [x] three\n"


def test_a_section_without_a_search_is_removed_altogether() -> None:
    text = "# T\n\n## A\ntext\n\n### Sub\n\n## B\nend\n"
    edited = remove(text, section="A")
    assert edited.text == "# T\n\n## B\nend\n"
    assert edited.warnings == ["The edit removed 1 sub-sections too."]
    assert (edited.first_line, edited.last_line, edited.region) == (3, 2, "")
    assert remove(text, section="B").text == "# T\n\n## A\ntext\n\n### Sub\n"
    assert remove(text.rstrip("\n"), section="B").text == "# T\n\n## A\ntext\n\n### Sub"


def test_a_removal_names_what_it_leaves() -> None:
    assert "indented below" in remove("- a\n  - b\n", "a").warnings[0]
    assert "removed a heading ('A')" in remove("# A\ntext\n", "# A").warnings[0]


@pytest.mark.parametrize(
    ("text", "search", "new", "options", "expected"),
    [
        ("a b a\n", "a", "c", {}, "c b a\n"),
        ("a b a\n", "a", "c", {"occurrence": "last"}, "a b c\n"),
        ("a b a\n", "a", "aa", {"occurrence": "all"}, "aa b aa\n"),
        ("a\r\nb\r\n", "a\nb", "c\nd", {}, "c\r\nd\r\n"),
        ("a b\n", " b", "", {}, "a\n"),
        ("  * a\n", "* a", "* •b ", {}, "  * •b \n"),
    ],
)
def test_a_replacement_is_exact(text: str, search: str, new: str, options: dict[str, Any], expected: str) -> None:
    assert swap(text, search, new, **options).text == expected


def test_content_stands_for_the_replacement() -> None:
    assert apply_edit("a\n", TextEdit("replace", None, "b", search="a"), NOW).text == "b\n"


def test_a_pattern_fills_its_groups_in() -> None:
    text = "due 2026-01-02\r\ndue 2026-03-04\r\n"
    edited = swap(text, None, r"\3.\2.\1 \\", pattern=r"(\d+)-(\d+)-(\d+)$", occurrence="all")
    assert edited.text == "due 02.01.2026 \\\r\ndue 04.03.2026 \\\r\n"
    assert swap("aéb\n", None, r"<\0>", pattern="é").text == "a<é>b\n"
    with pytest.raises(InvalidArgument, match="group 2"):
        swap("a", None, r"\2", pattern="(a)")


@pytest.mark.parametrize("pattern", ["(", "a{2000}", r"(?=a)", r"(a)\1", "x" * 1001])
def test_a_bad_pattern_is_named(pattern: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        swap("a", None, "b", pattern=pattern)
    assert error.value.details["field"] == "pattern"


def test_a_pattern_takes_linear_time() -> None:
    swap("a" * 50_000, None, "b", pattern="(a*)*$")


def test_a_result_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_search, "MAX_TEXT", 1_000)
    with pytest.raises(TooLarge):
        swap("a" * 100, None, "b" * 100, pattern="a", occurrence="all")
    monkeypatch.setattr(text_search, "MAX_MATCHES", 50)
    with pytest.raises(InvalidArgument, match="more than 50 times"):
        swap("a" * 100, "a", "b", occurrence="all")


def test_a_section_without_a_search_gets_another_text() -> None:
    text = "# A\n\nold\nlines\n\n## Sub\nstays\n"
    assert swap(text, None, "new", "A").text == "# A\n\nnew\n\n## Sub\nstays\n"
    assert swap(text, None, "# H\nnew", "A").text == "# A\n\n## H\nnew\n\n## Sub\nstays\n"
    assert swap(text, None, "", "A").text == "# A\n\n## Sub\nstays\n"
    assert swap("# A\nold", None, "new", "A").text == "# A\nnew"
    assert swap("# A\nold", None, "", "A").text == "# A"
    assert swap("# A\n\n# B\n", None, "new", "A").text == "# A\n\nnew\n\n# B\n"


def test_a_search_looks_into_the_section_and_its_sub_sections_only() -> None:
    text = "# A\nx\n# B\nb\n## Sub\nx\n"
    assert swap(text, "x", "y", "B").text == "# A\nx\n# B\nb\n## Sub\ny\n"
    with pytest.raises(NotFound, match="stands in line 2, under '# A'") as error:
        swap("# A\nx\n# B\n", "x", "y", "B")
    assert error.value.details["line"] == 2


def test_frontmatter_is_out_of_reach() -> None:
    with pytest.raises(NotFound, match="frontmatter") as error:
        swap("---\nk: secret\n---\ntext\n", "secret", "x")
    assert "frontmatter_update" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("line", "search", "differs"),
    [
        ("The Quick fox", "the quick", ["case"]),
        ("He said “yes”", 'said "yes"', ["quotes"]),
        ("1990–2000", "1990-2000", ["dashes"]),
        ("two  blanks", "two blanks", ["white space"]),
        ("a\u00a0b c", "a b c", ["white space"]),
        ("a **bold** word", "a bold word", ["emphasis or link brackets"]),
        ("cafe\u0301 here", "café here", ["Unicode form"]),
        ("The “Fox”", 'the "fox"', ["quotes", "case"]),
        ("the quick brown fox jumps", "the quick browm fox", ["wording"]),
    ],
)
def test_a_search_that_fails_says_what_the_closest_line_has(line: str, search: str, differs: list[str]) -> None:
    with pytest.raises(NotFound) as error:
        swap(f"# A\nfirst\n{line}\n", search, "x")
    near = error.value.details["closest"][0]
    assert (near["line"], near["text"], near["differs"]) == (3, line, differs)
    assert "3" in error.value.message


def test_of_several_lines_searched_each_is_looked_at() -> None:
    with pytest.raises(NotFound) as error:
        swap("one\ntwo\nThree\n", "two\nthree", "x")
    closest = error.value.details["closest"]
    assert (closest[0]["search_line"], closest[0]["line"], closest[0]["differs"]) == (2, 3, ["case"])
    assert (closest[-1]["search_line"], closest[-1]["line"], closest[-1]["differs"]) == (1, 2, [])


def test_a_search_like_nothing_says_so() -> None:
    with pytest.raises(NotFound, match="no line comes close"):
        swap("one\n", "qqqqqqqqqqqqqqqq", "x")
    with pytest.raises(NotFound, match="pattern"):
        swap("one\n", None, "x", pattern="q+")


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (TextEdit("add", None, None), "content"),
        (TextEdit("add", None, " \n"), "content"),
        (TextEdit("add", None, "x", search="y"), "search"),
        (TextEdit("add", "", "x"), "section"),
        (TextEdit("add", None, "a\0b"), "content"),
        (TextEdit("add", None, "\ud800"), "content"),
        (TextEdit("remove", None, None), "search"),
        (TextEdit("remove", None, None, search=""), "search"),
        (TextEdit("remove", "A", None, search=" "), "search"),
        (TextEdit("remove", "A", None, search="x", replacement="y"), "replacement"),
        (TextEdit("remove", "A", "y", search="x"), "content"),
        (TextEdit("replace", None, "x"), "search"),
        (TextEdit("replace", "A", None), "replacement"),
        (TextEdit("replace", None, "y", search="x", replacement="z"), "content"),
        (TextEdit("replace", None, "y", search="x", pattern="z"), "pattern"),
    ],
)
def test_arguments_that_do_not_go_together(edit: TextEdit, field: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        apply_edit("# A\nx\n", edit, NOW)
    assert error.value.details["field"] == field

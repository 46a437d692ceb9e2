"""What is read off frontmatter: types, values that are one, habits and who does otherwise. Pure.

Covers vaults.domain.schema.note_properties, vaults.domain.schema.overview, vaults.domain.schema.property_values,
vaults.domain.schema.schema_notes, vaults.domain.schema.spellings, vaults.domain.schema.value_migration,
vaults.domain.schema.violations.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.schema import overview, spellings, violations
from vaults.domain.schema.conventions import infer_conventions
from vaults.domain.schema.note_properties import NoteProperties
from vaults.domain.schema.property_values import to_property_value
from vaults.domain.schema.schema_notes import parse_schema
from vaults.domain.schema.value_migration import Migration, convert_value, migrate_note_text
from vaults.errors import Conflict, InvalidArgument


def sheet(path: str, tags: tuple[str, ...] = (), **values: Any) -> NoteProperties:
    return NoteProperties(
        path, path.rpartition("/")[0], {name: to_property_value(value) for name, value in values.items()}, tags
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "empty"), ("", "empty"), (True, "boolean"), (3, "number"), (1.5, "number"), ("x", "string"),
        ("2026-01-02", "date"), ("2026-13-02", "string"), ("2026-01-02T10:00Z", "datetime"),
        ("2026-01-02 25:00", "string"),
        ("[[Note]]", "link"), ("[a](b.md)", "link"), ("[[a]] and b", "string"), ([1, [2], {}], "list"),
        ({"a": 1}, "mapping"),
        ("2026-01-02T10:00:00.5+02:00", "datetime"),
    ],
)  # fmt: skip
def test_a_value_is_of_one_type(value: Any, kind: str) -> None:
    assert to_property_value(value).kind == kind


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_any_value_has_a_type(value: Any) -> None:
    assert to_property_value(value).kind


def test_fields_are_counted_by_type_and_folder_and_tags_with_those_above() -> None:
    notes = [
        sheet("a/1.md", ("Work/x", "work/y"), n=1),
        sheet("a/2.md", ("work",), n="one"),
        sheet("b/3.md", n=None, m="x"),
    ]
    n, m = overview.summarize_fields(notes)
    assert (n.type, n.notes, n.types, n.folders) == (
        "mixed",
        3,
        {"number": 1, "string": 1, "empty": 1},
        {"a": 2, "b": 1},
    )
    assert (m.type, m.notes, m.examples) == ("string", 1, ["x"])
    assert [(each.tag, each.notes) for each in overview.count_tags(notes)] == [
        ("Work", 2),
        ("Work/x", 1),
        ("work/y", 1),
    ]


def test_folders_are_told_with_what_is_usual_in_them() -> None:
    notes = [sheet(f"a/b/{n}.md", type="log", day="2026-01-01") for n in range(3)] + [sheet("a/b/x.md", type="log")]
    root, a, b = overview.summarize_folders(notes)
    assert [(each.folder, each.notes, each.below) for each in (root, a, b)] == [("", 0, 4), ("a", 0, 4), ("a/b", 4, 4)]
    assert (b.fields, b.type) == ({"type": 1.0, "day": 0.75}, "log")


def test_two_spellings_of_one_value_are_found() -> None:
    texts = ["in progress", "In-Progress", "in_progress", "done", "doing", "cancelled", "canceled", "v1.0", "v1.1"]
    near = spellings.find_similar(texts)
    assert near["in progress"] == ["In-Progress", "in_progress"]
    assert near["canceled"] == ["cancelled"]
    assert not {"done", "doing", "v1.0", "v1.1"} & near.keys()


def test_ten_thousand_values_are_compared_quickly() -> None:
    assert spellings.find_similar([f"value number {n} of many" for n in range(10_000)]) == {}


def _projects() -> list[NoteProperties]:
    notes = [sheet(f"p/the-{n}.md", ("proj",), status="open" if n % 2 else "done", due="2026-01-01") for n in range(9)]
    return [*notes, sheet("p/Odd.md", status="opne", due="soon")]


def test_what_four_in_five_do_is_a_convention_and_the_others_are_named() -> None:
    found = {(each.rule, each.field): each for each in infer_conventions(_projects())}
    assert found["required", "status"].exceptions == ()
    assert (found["type", "due"].value, found["type", "due"].exceptions) == ("date", ("p/Odd.md",))
    assert found["enum", "status"].choices == ("done", "open")
    assert found["tag", "proj"].share == 0.9
    assert (found["name", None].value, found["name", None].exceptions) == ("kebab-case", ("p/Odd.md",))


def test_a_tag_all_notes_share_is_found_above_those_they_carry() -> None:
    split = [sheet(f"a/{n}.md", ("Api/x" if n % 2 else "api/y", "k/l")) for n in range(6)]
    assert [(each.field, each.share) for each in infer_conventions(split) if each.rule == "tag"] == [
        ("api", 1.0),
        ("k/l", 1.0),
    ]


def test_a_text_of_several_tags_is_several_values() -> None:
    notes = [
        NoteProperties(f"{n}.md", "", {"tags": to_property_value(tags)}, ())
        for n, tags in enumerate(["#b, c", ["c d"]])
    ]
    assert [(each.value, each.notes) for each in spellings.list_field_values(notes, "tags")] == [
        ("c", 2),
        ("b", 1),
        ("d", 1),
    ]


def test_few_notes_and_many_values_make_no_convention() -> None:
    assert infer_conventions(_projects()[:4]) == []
    titles = [sheet(f"{n} x.md", title=f"Title {n}") for n in range(20)]
    assert {each.rule for each in infer_conventions(titles)} == {"required", "type"}


def test_an_exception_is_told_with_what_would_fit() -> None:
    found = {each.field: each for each in violations.check_conventions(_projects())}
    assert (found["status"].path, found["status"].suggestion) == ("p/Odd.md", "open")
    assert found["due"].reason == "is a string; in 90% of 10 it is a date"
    assert found["tags"].suggestion == "#proj"


TO_NUMBER = "migrate it to_type number"
RULES = {
    "fields": {
        "status": {"type": "string", "required": True, "enum": ["open", "done"]},
        "rating": {"type": "number", "min": 1, "max": 5},
        "due": {"type": "date", "min": "2026-01-01"},
        "code": {"pattern": "[A-Z]+-[0-9]+"},
        "authors": {"type": "list", "min": 1},
    },
    "tags": ["#Proj"],
    "names": "kebab-case",
    "others": False,
}


def ours(**values: Any) -> NoteProperties:
    return sheet("a-b.md", ("proj",), **values)


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (sheet("a-b.md", ("proj/x",), status="open", rating=5, due="2026-01-01", code="AB-1", authors=["x"]), set()),
        (ours(status=""), {("status", "is empty", None)}),
        (ours(status="Open"), {("status", "is 'Open', none of open, done", "open")}),
        (ours(status="open", rating="4"), {("rating", "is a string, not a number", TO_NUMBER)}),
        (ours(status="open", rating=6), {("rating", "is above 5", None)}),
        (ours(status="open", due="2025-12-31"), {("due", "is below 2026-01-01", None)}),
        (ours(status="open", code="AB1"), {("code", "is 'AB1', which does not fit [A-Z]+-[0-9]+", None)}),
        (ours(status="open", authors=[]), {("authors", "is below 1", None)}),
        (ours(status="open", stauts="x"), {("stauts", "is not in the schema", "rename it to status")}),
        (
            sheet("A B.md", status="open"),
            {("tags", "#proj is missing", "#proj"), (None, "the file is not named in kebab-case", None)},
        ),
    ],
)  # fmt: skip
def test_a_written_schema_says_what_does_not_fit(
    note: NoteProperties, said: set[tuple[str | None, str, str | None]]
) -> None:
    found = violations.find_violations(note, violations.prepare_check(parse_schema(RULES, "rules"), "rules"))
    assert {(each.field, each.reason, each.suggestion) for each in found} == said


@pytest.mark.parametrize(
    "rules",
    [
        {}, {"fields": {}}, {"fields": {"a": {"type": "colour"}}}, {"fields": {"a": {"pattern": "("}}},
        {"extra": 1}, [1],
        {"fields": {"a": 1}}, {"names": "loud"}, {"fields": {"": {}}}, {"tags": "a"},
        {"fields": {"a": {"enum": [[1]] * 300}}},
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused(rules: Any) -> None:
    with pytest.raises(InvalidArgument, match="rules"):
        parse_schema(rules, "rules")


def test_a_pattern_that_would_explode_elsewhere_is_quick() -> None:
    check = violations.prepare_check(parse_schema({"fields": {"a": {"pattern": "(a+)+$"}}}, "rules"), "rules")
    assert violations.find_violations(sheet("x.md", a="a" * 150 + "b"), check)


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ("s: open # c\n", Migration("s", {"open": "in progress"}), "s: in progress # c\n"),
        ("s: [a, b]\n", Migration("s", {"a": "x"}), "s: [x, b]\n"),
        ("s: 'yes'\n", Migration("s", {"yes": True}), "s: true\n"),
        ("s: 5\n", Migration("s", {"5": 6}), "s: 6\n"),
        ("s: a\n", Migration("s", {}, "list"), "s:\n  - a\n"),
        ("s: a, b\n", Migration("s", {}, "list", ","), "s:\n  - a\n  - b\n"),
        ("s: [a, b]\n", Migration("s", {}, "string", ", "), "s: a, b\n"),
        ("s: [a]\n", Migration("s", {}, "string"), "s: a\n"),
        ("s: '7'\n", Migration("s", {}, "number"), "s: 7\n"),
        ("s: 2026/1/2\n", Migration("s", {}, "date"), "s: 2026-01-02\n"),
        ("s: 02.01.2026\n", Migration("s", {}, "date"), "s: 2026-01-02\n"),
        ("s: [yes, off]\n", Migration("s", {"yes": "on"}, "list"), 's: ["on", off]\n'),
        ("s:\n", Migration("s", {}, "number"), "s:\n"),
        ("s: {a: 1}\n", Migration("s", {}, "number"), "s: {a: 1}\n"),
        ("t: a\n", Migration("s", {"a": "b"}), "t: a\n"),
    ],
)
def test_values_are_migrated_where_they_stand(before: str, wanted: Migration, after: str) -> None:
    assert migrate_note_text(f"---\n{before}x: a\n---\nopen a\n", wanted) == f"---\n{after}x: a\n---\nopen a\n"


@pytest.mark.parametrize(
    ("value", "kind"), [("abc", "number"), ("maybe", "boolean"), ("31.02.2026", "date"), (True, "number")]
)
def test_what_is_none_of_a_type_is_not_made_one(value: Any, kind: str) -> None:
    with pytest.raises(Conflict):
        convert_value(value, kind)


def test_a_long_text_is_kept_whole() -> None:
    long = "x" * 500
    assert (
        migrate_note_text(f"---\ns: [{long}]\n---\n", Migration("s", {long[:200]: "y"}, "string"))
        == f"---\ns: {long}\n---\n"
    )

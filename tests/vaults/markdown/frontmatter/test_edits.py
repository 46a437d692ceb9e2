"""Frontmatter by key: what is written, how, and what is refused.

Covers vaults.markdown.frontmatter.entries.
"""

from typing import Any

import pytest

from vaults.errors import Conflict, InvalidArgument, TooLarge
from vaults.markdown.frontmatter.edits import update_properties

NOTE = """---
# made by hand
title: "A: b"   # the title
date:   2026-01-02
tags: # mine
  # first of all
  - a # one
  - 'b'
  # last
  - c

# between
flow: [a, 'b',
  c]  # tail
text: |  # exact
  one
  two

count: 1
nested:
    k: v
    l: [1]

? odd
: pair
empty:
---
body
---
end
"""


def changed(set_: dict[str, Any], unset: tuple[str, ...] = (), note: str = NOTE) -> list[tuple[str, str]]:
    """Lines that went and lines that came, block by block."""
    import difflib

    text, warnings = update_properties(note, set_, unset)
    assert warnings == []
    before, after = note.splitlines(keepends=True), text.splitlines(keepends=True)
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [("".join(before[a:b]), "".join(after[c:d])) for what, a, b, c, d in blocks if what != "equal"]


@pytest.mark.parametrize(
    ("values", "before", "after"),
    [
        ({"title": "C # d"}, 'title: "A: b"   # the title\n', 'title: "C # d"   # the title\n'),
        ({"title": 'say "x"'}, 'title: "A: b"   # the title\n', 'title: "say \\"x\\""   # the title\n'),
        ({"title": None}, 'title: "A: b"   # the title\n', "title:   # the title\n"),
        ({"date": "2026-01-03"}, "date:   2026-01-02\n", "date:   2026-01-03\n"),
        ({"date": "soon"}, "date:   2026-01-02\n", "date:   soon\n"),
        ({"tags": ["a", "b", "c", "d"]}, "", "  - d\n"),
        ({"tags": ["a", "x", "c"]}, "  - 'b'\n", "  - x\n"),
        ({"tags": ["a", "c"]}, "  - 'b'\n", ""),
        ({"tags": ["z", "a", "b", "c"]}, "", "  - z\n"),
        ({"tags": "a"}, NOTE[NOTE.index("tags") : NOTE.index("\n# between")], "tags: a # mine\n"),
        ({"flow": ["x", "y, z"]}, "flow: [a, 'b',\n  c]  # tail\n", 'flow: [x, "y, z"]  # tail\n'),
        ({"flow": {"k": ["v"]}}, "flow: [a, 'b',\n  c]  # tail\n", "flow: {k: [v]}  # tail\n"),
        ({"text": "1\n2"}, "text: |  # exact\n  one\n  two\n", "text: |-  # exact\n  1\n  2\n"),
        ({"text": "one\n2\n"}, "  two\n", "  2\n"),
        ({"text": "x \n2\n"}, "text: |  # exact\n  one\n  two\n", 'text: "x \\n2\\n"  # exact\n'),
        ({"count": 2}, "count: 1\n", "count: 2\n"),
        ({"count": True}, "count: 1\n", "count: true\n"),
        ({"count": "1"}, "count: 1\n", 'count: "1"\n'),
        ({"count": 1.5}, "count: 1\n", "count: 1.5\n"),
        (
            {"nested": {"k": "w", "m": {"o": [1]}}},
            "    k: v\n    l: [1]\n",
            "    k: w\n    m:\n        o:\n            - 1\n",
        ),
        ({"odd": "x"}, "? odd\n: pair\n", "odd: x\n"),
        ({"empty": ["x"]}, "", "  - x\n"),
        ({"empty": "x"}, "empty:\n", "empty: x\n"),
        ({"new": ["[[x]]", "no", {"a": 1, "b": []}]}, "", 'new:\n  - "[[x]]"\n  - "no"\n  - a: 1\n    b: []\n'),
        ({"a.b": "x"}, "", "a.b: x\n"),
        ({"on": 1, "2026": 2, "x: y": 3}, "", '"on": 1\n"2026": 2\n"x: y": 3\n'),
    ],
)
def test_only_the_keys_own_lines_change_and_keep_their_style(values: dict[str, Any], before: str, after: str) -> None:
    assert changed(values) == [(before, after)]


@pytest.mark.parametrize(
    ("key", "before"),
    [
        ("title", 'title: "A: b"   # the title\n'),
        ("tags", NOTE[NOTE.index("tags") : NOTE.index("\n# between")]),
        ("flow", "flow: [a, 'b',\n  c]  # tail\n"),
        ("text", "text: |  # exact\n  one\n  two\n"),
        ("nested", "nested:\n    k: v\n    l: [1]\n"),
        ("odd", "? odd\n: pair\n"),
        ("empty", "empty:\n"),
    ],
)
def test_only_the_keys_own_lines_go(key: str, before: str) -> None:
    assert changed({}, (key,)) == [(before, "")]


def test_a_value_that_is_there_is_not_written_again() -> None:
    same = {
        "title": "A: b", "date": "2026-01-02", "tags": ["a", "b", "c"], "flow": ["a", "b", "c"], "text": "one\ntwo\n",
        "count": 1, "nested": {"l": [1], "k": "v"}, "odd": "pair", "empty": None,
    }  # fmt: skip
    assert update_properties(NOTE, same, ("absent",)) == (NOTE, ["'absent' was not there."])


def test_one_and_true_and_text_are_not_the_same() -> None:
    for value in (True, 1.0, "1"):
        assert update_properties("---\na: 1\n---\n", {"a": value})[0] != "---\na: 1\n---\n"


@pytest.mark.parametrize(
    ("note", "after"),
    [
        ("", "---\nk: v\n---\n"),
        ("text", "---\nk: v\n---\ntext"),
        ("a\r\nb", "---\r\nk: v\r\n---\r\na\r\nb"),
        ("---\nno end", "---\nk: v\n---\n---\nno end"),
        (" ---\na: 1\n---\n", "---\nk: v\n---\n ---\na: 1\n---\n"),
        ("---\n---", "---\nk: v\n---"),
        ("---\n# c\n\n---\nx", "---\n# c\n\nk: v\n---\nx"),
        ("--- \r\na: 1\r\n...\r\n---\r\n", "--- \r\na: 1\r\nk: v\r\n...\r\n---\r\n"),
        ("---\ra: 1\r---\rx", "---\ra: 1\rk: v\r---\rx"),
        ("---\n  a: 1\n---\n", "---\n  a: 1\n  k: v\n---\n"),
        ("---\na: |+\n  x\n\n---\n", "---\na: |+\n  x\n\nk: v\n---\n"),
    ],
)
def test_a_new_key_goes_to_the_end_of_the_block_and_comes_off_again(note: str, after: str) -> None:
    assert update_properties(note, {"k": "v"})[0] == after
    if note != "---\n---":
        assert update_properties(after, {}, ("k",))[0] == note


@pytest.mark.parametrize(
    ("note", "lines"),
    [
        ("---\na: [x]\n---\n", "k: [v]\n"),
        ("---\na:\n- x\n---\n", "k:\n- v\n"),
        ("---\na:\n    -   x\n---\n", "k:\n    -   v\n"),
        ("---\na: []\nb: 'q'\n---\n", "k:\n  - v\n"),
    ],
)
def test_a_new_list_is_written_as_the_blocks_first_one(note: str, lines: str) -> None:
    assert update_properties(note, {"k": ["v"]})[0] == note.removesuffix("---\n") + lines + "---\n"


def test_a_list_keeps_the_quotes_of_its_items() -> None:
    note = '---\na:\n- "[[x]]"\n- "y"\n---\n'
    assert update_properties(note, {"a": ["[[x]]", "z"]})[0] == '---\na:\n- "[[x]]"\n- "z"\n---\n'
    assert update_properties("---\na: 'x'\n---\n", {"a": "it's"})[0] == "---\na: 'it''s'\n---\n"


def test_a_comment_above_a_value_that_stands_below_its_key_is_kept() -> None:
    assert update_properties("---\na: # c\n  below\nb: 1\n---\n", {"a": "x"})[0] == "---\na: x # c\nb: 1\n---\n"


def test_a_list_may_lose_one_of_two_equal_items() -> None:
    note = "---\na:\n- x\n- y # 1\n- y # 2\n---\n"
    assert update_properties(note, {"a": ["x", "y"]})[0] == "---\na:\n- x\n- y # 1\n---\n"


def test_a_line_that_changes_keeps_its_own_ending() -> None:
    assert update_properties("---\na: 1\r\nb: 2\n---\n", {"a": 3, "b": 3})[0] == "---\na: 3\r\nb: 3\n---\n"


def test_the_last_key_takes_the_block_along_unless_something_is_left_in_it() -> None:
    assert update_properties("---\na: 1\n\n---\nx", {}, ("a",))[0] == "x"
    assert update_properties("---\n# why\na: 1\n---\nx", {}, ("a",))[0] == "---\n# why\n---\nx"
    assert update_properties("---\na: 1\n---\n---\nb: 1\n---\n", {}, ("a",))[0] == "---\n---\n---\nb: 1\n---\n"


def test_keys_that_are_there_stay_when_only_missing_ones_are_set() -> None:
    text, warnings = update_properties("---\na: 1\nb:\n---\n", {"a": 2, "b": 2, "c": 3}, only_if_missing=True)
    assert text == "---\na: 1\nb:\nc: 3\n---\n"
    assert warnings == ["'a' was there and was kept.", "'b' was there and was kept."]


def test_a_key_that_differs_in_case_alone_is_warned_of() -> None:
    assert update_properties("---\ntags: x\n---\n", {"Tags": "y"})[1] == ["'Tags' was added beside 'tags'."]
    assert update_properties("---\ntags: x\n---\n", {"Tags": "y"}, ("tags",))[1] == []


def test_text_of_several_lines_does_not_take_in_the_comment_below_it() -> None:
    note = "---\na: x\n\n  # comment\nb: 1\n---\n"
    assert update_properties(note, {"a": "1\n2"})[0] == note.replace("a: x", 'a: "1\\n2"')


def test_what_would_change_another_value_is_refused() -> None:
    with pytest.raises(Conflict, match="other values"):
        update_properties("---\na: |\n  x\nb: 1\n  # would be text of a\n---\n", {}, ("b",))


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        ("a: [", "line"),
        ("a: b: c", "line"),
        ("\ta: 1", "line"),
        ("a: 1\na: 2", "repeated: a"),
        ("a: &x 1\nb: *x", "alias"),
        ("a: &x 1", "anchor"),
        ("b: {c: [&x 1]}", "anchor"),
        ("{a: 1}", "a line"),
        ("- a", "line"),
        ("a: !!python/object:os.system x", "tag"),
        ("[a]: 1", "line"),
        ("a: " + "[" * 40 + "]" * 40, "nested deeper"),
        ("a: " + "[" * 3_000 + "]" * 3_000, "nested deeper"),
        ("a: " + "x" * 70_000, "longer"),
        ("a: 1\x01", "YAML"),
    ],
)
def test_frontmatter_that_is_not_safe_to_edit_is_left_alone(inner: str, reason: str) -> None:
    with pytest.raises(Conflict, match="cannot be edited by key") as refusal:
        update_properties(f"---\n{inner}\n---\nbody", {"k": "v"})
    assert reason in refusal.value.message


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "values",
    [
        {"a": nested(32)},
        {"a": "x" * 10_300},
        {"a": "ü" * 5_200},
        {"a": "\ud800"},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 10**18},
        {"a": 10**4000},
        {"a": {1}},
        {"a": b"x"},
        {"a": {1: 2}},
        {"a": {"": 2}},
        {"": 1},
        {" ": 1},
        {"a\nb": 1},
        {"a\u2028": 1},
        {"x" * 201: 1},
        {str(number): 1 for number in range(101)},
    ],
    ids=lambda values: ascii(values)[:30],
)
def test_what_frontmatter_cannot_hold_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        update_properties(NOTE, values)
    assert refusal.value.details["field"] == "set"


def test_the_deepest_value_that_is_allowed_can_be_read() -> None:
    assert "x" in update_properties("", {"a": nested(31)})[0]


def test_a_key_cannot_be_set_and_unset_at_once() -> None:
    with pytest.raises(InvalidArgument, match="'title'"):
        update_properties(NOTE, {"title": 1}, ("title",))


def test_frontmatter_does_not_grow_beyond_what_is_read() -> None:
    note = update_properties("", {f"k{number}": "x" * 10_000 for number in range(6)})[0]
    with pytest.raises(TooLarge):
        update_properties(note, {"more": "x" * 10_000})

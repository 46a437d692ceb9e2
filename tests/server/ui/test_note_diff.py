"""A unified diff becomes two columns, with the words that changed marked; whatever it holds, in bounded work."""

from __future__ import annotations

import pytest

from server.ui.note_diff import MOST_WORDS, DiffCell, DiffRow, mark_words, pair_lines
from vaults.history.diffs import unified_diff


def rows(before: str, after: str) -> list[DiffRow]:
    return pair_lines(unified_diff(before, after, "n.md").split("\n"))


def side(cell: DiffCell | None) -> str | None:
    return None if cell is None else "".join(f"[{text}]" if changed else text for changed, text in cell.parts)


def columns(before: str, after: str) -> list[tuple[str | None, str | None]]:
    return [(side(row.before), side(row.after)) for row in rows(before, after) if row.note is None]


def test_a_changed_line_stands_beside_what_became_of_it() -> None:
    assert columns("a\nOiled in March.\nz\n", "a\nOiled in April.\nz\n") == [
        ("a", "a"),
        ("Oiled in [March].", "Oiled in [April]."),
        ("z", "z"),
    ]


def test_what_has_no_counterpart_stands_alone_and_lines_are_counted_on_either_side() -> None:
    found = rows("a\nb\n", "new\na\n")
    told = [(row.before and row.before.number, row.after and row.after.number) for row in found if row.note is None]
    assert told == [(None, 1), (1, 2), (2, None)]
    assert columns("", "one\n\ntwo\n") == [(None, "[one]"), (None, "[]"), (None, "[two]")]


def test_lines_that_are_not_alike_are_marked_whole() -> None:
    assert columns("The ferry\n", "42 = x\n") == [("[The ferry]", "[42 = x]")]


@pytest.mark.parametrize("line", ["-- x", "++ x", "@@ -1 +1 @@", "\\ x", "rename from a", "", " "])
def test_a_line_that_looks_like_a_head_is_a_line(line: str) -> None:
    shown = [after for _, after in columns("k\n", f"k\n{line}\n")]
    assert shown[-1] == f"[{line}]"


def test_what_the_diff_says_of_itself_is_a_note() -> None:
    notes = [row.note for row in rows("a\nb", "a\nb\n") if row.note]
    assert notes == ["@@ -1,2 +1,2 @@", "No newline at end of file"]
    assert pair_lines(["rename from a.md", "rename to b.md"]) == []
    assert pair_lines([]) == []
    assert pair_lines(["@@ -999999999999 +1 @@", "+x"]) == []


def test_a_change_of_many_words_is_compared_as_far_as_it_is_worth() -> None:
    old, new = "\n".join(["a b c d"] * 3000) + "\n", "\n".join(["a b x d"] * 3000) + "\n"
    diff = unified_diff(old, new, "n.md", limit_lines=10_000).split("\n")
    told = [side(row.after) for row in pair_lines(diff) if row.note is None]
    assert len(told) == 3000
    assert told[0] == "a b [x] d"
    assert told[-1] == "[a b x d]"
    assert told.index("[a b x d]") == MOST_WORDS // 14


def test_nothing_of_a_line_is_lost() -> None:
    for old, new in (("", "x"), ("a  b\tc", "a b\tc"), ("\u202ex y", "x\u0301 y")):
        left, right = mark_words(list(old), list(new))
        assert "".join(text for _, text in left) == old
        assert "".join(text for _, text in right) == new

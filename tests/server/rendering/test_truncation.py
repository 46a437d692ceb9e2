"""What is too long is cut to its budget, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from server.rendering.truncation import estimate_size, shorten


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    number: int | None = None
    inner: _Row | None = None
    rows: list[_Row] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=30), st.text(min_size=300)
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.text(max_size=8)
    rows = st.builds(_Row, name=st.text(max_size=200), number=st.none() | st.integers())
    outer = st.builds(
        _Row, name=names, inner=st.none() | rows, rows=st.lists(rows, max_size=4), about=st.dictionaries(names, inner)
    )
    return st.one_of(st.lists(inner, max_size=6), st.dictionaries(names, inner, max_size=6), rows, outer)


VALUES = st.recursive(LEAVES, _nested, max_leaves=25)
ROOMS = st.integers(min_value=-10, max_value=3_000)


@given(VALUES, ROOMS)
def test_a_cut_value_stays_what_it_was(value: Any, room: int) -> None:
    assert _is_cut_from(shorten(value, room), value)


@given(VALUES, ROOMS, ROOMS)
def test_less_room_never_characters_more(value: Any, one: int, other: int) -> None:
    less, more = shorten(value, min(one, other)), shorten(value, max(one, other))
    assert estimate_size(less) <= estimate_size(more) <= estimate_size(value)
    assert _characters(less) <= _characters(more) <= _characters(value)


@given(VALUES)
def test_what_has_room_is_left_as_it_is(value: Any) -> None:
    assert shorten(value, estimate_size(value) + 2) == value


@given(st.lists(st.text(min_size=1, max_size=400), max_size=20), st.integers(0, 4_000))
def test_a_list_of_texts_fits_the_room_it_is_given(value: list[str], room: int) -> None:
    assert estimate_size(shorten(value, room)) <= room + 4


def test_one_long_text_does_not_push_out_the_others() -> None:
    row = _Row("n" * 5_000, 1, rows=[_Row("first"), _Row("second")], about={"why": "w" * 90})
    cut = shorten(row, 1_000)
    assert cut.name.startswith("nnn")
    assert (cut.rows, cut.about, cut.number) == (row.rows, row.about, 1)


@dataclass(frozen=True, slots=True)
class _Page:
    rows: list[str]
    cursor: str | None = "on"
    next_line: int | None = 9


def test_where_to_go_on_is_only_told_where_nothing_was_cut_before_it() -> None:
    page = _Page(["a" * 150, "b" * 150])
    one = shorten(page, 300)
    assert (len(one.rows), one.cursor, one.next_line) == (1, None, None)
    shorter = shorten(_Page(["a" * 400]), 300)
    assert (len(shorter.rows), shorter.cursor) == (1, "on"), "the row is there, cut as it is"
    assert shorten(page, 3_000) == page


def _is_cut_from(cut: Any, whole: Any) -> bool:
    """Whether ``cut`` is a beginning of ``whole``, part for part."""
    if type(cut) is not type(whole):
        return False
    if isinstance(whole, str):
        return cut == whole or (cut.endswith("…") and whole.startswith(cut[:-1]))
    if isinstance(whole, list):
        return len(cut) <= len(whole) and all(map(_is_cut_from, cut, whole))
    if isinstance(whole, dict):
        return cut.keys() == whole.keys() and all(_is_cut_from(cut[name], whole[name]) for name in whole)
    if isinstance(whole, _Row):
        parts = ("name", "number", "inner", "rows", "about")
        return all(_is_cut_from(getattr(cut, name), getattr(whole, name)) for name in parts)
    return bool(cut == whole)


def _characters(value: Any) -> int:
    """Characters of the texts in it."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(map(_characters, value.values()))
    if isinstance(value, _Row):
        return sum(_characters(each) for each in (value.name, value.inner, value.rows, value.about))
    return 0

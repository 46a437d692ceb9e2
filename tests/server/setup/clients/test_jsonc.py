from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.setup.clients.jsonc import NotJson, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 2, "\t"]))
def test_json_says_what_it_says_to_json(value: object, indent: str | int | None) -> None:
    node = parse(json.dumps(value, indent=indent))
    assert node is not None
    assert node.value == value


def test_comments_and_trailing_commas_are_read_over() -> None:
    node = parse('// a\n{ /* b */ "c" /* } */ : [1, 2, /* d */ ], // "e": 1\n "f": "//", }\n/* g */')
    assert node is not None
    assert node.value == {"c": [1, 2], "f": "//"}
    assert parse(" // nothing\n") is None


@given(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), st.sampled_from([None, 2]))
def test_what_is_beside_the_path_is_skimmed(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    whole, skimmed = parse(text), parse(text, ["b"])
    assert whole is not None
    assert skimmed is not None
    for each, other in zip(whole.members or (), skimmed.members or (), strict=True):
        places = [(node.begin, node.end) for node in (each.node, other.node)]
        assert (each.key, each.begin, each.comma, places[0]) == (other.key, other.begin, other.comma, places[1])
        if each.key == "b" and each.node.members is not None:
            assert [inner.key for inner in each.node.members] == [inner.key for inner in other.node.members or ()]


@pytest.mark.parametrize(
    "text",
    [
        "{", "{]", "[1 2]", "[,]", "{,}", '{"a" 1}', '{"a": 1 "b": 2}', "{} {}", "{a: 1}", "01", "1.", "NaN", "'a'",
        '"\n"', '"\\x"', '{"\\x": 1}', "/* open", "truely", "-", "[" * 300 + "]" * 300,
    ],
)  # fmt: skip
def test_what_is_no_json_is_told_by_its_place(text: str) -> None:
    with pytest.raises(NotJson) as wrong:
        parse(text)
    assert "line 1" in str(wrong.value) or "200" in str(wrong.value)

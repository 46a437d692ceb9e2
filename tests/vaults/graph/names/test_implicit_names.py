"""Names that no note is about, told by how they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import assert_linear
from vaults.graph.names.implicit_names import MAX_WORDS, PATTERNS, find_implicit_names
from vaults.markdown.protected_spans import find_protected, overlaps_any


def terms(text: str) -> list[tuple[str, str]]:
    return [(each.term, each.pattern) for each in find_implicit_names(text, find_protected(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("met Marcus Johnson there", [("Marcus Johnson", "proper-nouns")]),
        ("The Marcus Johnson Fund", [("Marcus Johnson Fund", "proper-nouns")]),
        ("Ask Marcus Johnson.", [("Marcus Johnson", "proper-nouns")]),
        ("in Österreich Werke", [("Österreich Werke", "proper-nouns")]),
        (
            "we asked Marcus, Zoë and Marcus",
            [("Marcus", "single-caps"), ("Zoë", "single-caps"), ("Marcus", "single-caps")],
        ),
        ("uses TurboPump here", [("TurboPump", "camel-case")]),
        ("at NASA, ESA", [("NASA", "acronyms"), ("ESA", "acronyms")]),
        ('called "turbo pump" here', [("turbo pump", "quoted-terms")]),
        ("„Turbopumpe“ and “turbo pumps”", [("Turbopumpe", "quoted-terms"), ("turbo pumps", "quoted-terms")]),
        ("see FW-123.", [("FW-123", "ticket-refs")]),
    ],
)
def test_six_ways_of_writing_tell_a_name(text: str, expected: list[tuple[str, str]]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday we met.",
        "Marcus came. Zoë went.",
        "on Monday in January",
        "Next Steps",
        "The Plan",
        "the API, JSON and HTTP",
        "UTF-8, SHA-256",
        "JavaScript and GitHub",
        'said "yes" and "what is it?"',
        'he said "this one is the last."',
        "ABCDEF",
        "AB",
        "# Marcus Johnson",
        "`TurboPump` [[Marcus Johnson]] https://e.x/NASA",
        "I think IT is",
        "x-FW-123-y",
        "",
    ],
)
def test_common_words_beginnings_and_terms_of_the_trade_are_no_names(text: str) -> None:
    assert terms(text) == []


def test_patterns_are_chosen_and_the_longer_name_counts() -> None:
    text = 'with "Turbo Pump Mark" at NASA'
    assert [each.pattern for each in find_implicit_names(text, (), ("acronyms",))] == ["acronyms"]
    assert [each.term for each in find_implicit_names(text, ())] == ["Turbo Pump Mark", "NASA"]


def test_long_prose_is_left_alone_and_code_does_not_make_it_long() -> None:
    assert len(find_implicit_names("we asked NASA " * (MAX_WORDS // 3), ())) == MAX_WORDS // 3
    assert find_implicit_names("we asked NASA " * (MAX_WORDS // 3 + 1), ()) == []
    text = "we asked NASA\n\n```\n" + "word " * 600 + "\n```\n"
    assert terms(text) == [("NASA", "acronyms")]


WORDS = st.sampled_from(
    [
        "Marcus",
        "Johnson",
        "the",
        "NASA",
        "FW-1",
        "TurboPump",
        '"',
        "“",
        "”",
        " ",
        " ",
        "\n",
        ". ",
        "ß",
        "İ",
        "-",
        "'",
        "日本",
        "A",
    ]
)


@given(st.lists(WORDS, max_size=40).map("".join))
def test_what_is_found_in_any_text_is_in_order_apart_and_outside_of_zones(text: str) -> None:
    zones = find_protected(text)
    at = 0
    for each in find_implicit_names(text, zones):
        assert at <= each.start < each.end
        assert text[each.start : each.end] == each.term
        assert each.pattern in PATTERNS
        assert not overlaps_any(zones, each.start, each.end)
        at = each.end


@pytest.mark.parametrize("piece", ['"', "A", "Aa ", "Aa", "AA-1", "“a", ",", "é"])
def test_hostile_texts_take_linear_time(piece: str) -> None:
    assert_linear(lambda text: find_implicit_names(text, [(1, 2)]), lambda times: piece * times, 5_000)

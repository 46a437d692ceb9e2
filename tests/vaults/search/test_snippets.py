"""The part of a text that is shown: whole words, whole sections where they fit, closed code, within its length."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import assert_linear
from vaults.search.snippets import SNIPPET_LENGTH, find_highlights, make_snippet

FILLER = "Nothing of note happened on that long grey afternoon. "


def test_a_short_text_is_shown_whole() -> None:
    assert make_snippet("short ```", ["x"]) == "short ```"


def test_the_stretch_with_most_different_terms_wins_over_the_first_term() -> None:
    text = "The harbour is old. " + FILLER * 20 + "The harbour plan names a new pier. " + FILLER * 20
    assert "harbour plan names a new pier" in make_snippet(text, ["harbour", "plan", "pier"])


def test_without_a_match_it_is_the_beginning() -> None:
    assert make_snippet(FILLER * 40, ["zanzibar"]).startswith("Nothing of note")
    assert make_snippet(FILLER * 40, []).startswith("Nothing of note")


def test_it_starts_with_the_heading_of_the_section() -> None:
    text = FILLER * 20 + "\n\n## Restore\n\nFirst of all. A restore drill takes four minutes. " + FILLER * 20
    assert make_snippet(text, ["drill", "minutes"]).startswith("…\n## Restore\n\nFirst of all.")


def test_a_comment_in_code_is_no_heading() -> None:
    text = FILLER * 20 + "\n\nBefore.\n\n```sh\n# comment\nrun drill\n```\n" + FILLER * 20
    assert make_snippet(text, ["drill"]).startswith("…\n```sh\n# comment\nrun drill\n```")


def test_it_starts_with_a_paragraph_where_there_is_no_heading() -> None:
    text = FILLER * 20 + "\n\nA new day came. The drill went well. " + FILLER * 20
    assert make_snippet(text, ["drill"]).startswith("…\nA new day came. The drill")


def test_the_tightest_stretch_is_shown_from_its_own_paragraph() -> None:
    text = FILLER * 20 + "The plan. " + FILLER * 6 + "\n\nThe plan of the harbour is new. " + FILLER * 20
    assert make_snippet(text, ["plan", "harbour"]).startswith("…\nThe plan of the harbour")


def test_code_that_only_begins_at_the_end_is_left_out() -> None:
    text = "The drill went well. " + FILLER * 11 + "\n```sh\n" + "make many things\n" * 40 + "```\n"
    shown = make_snippet(text, ["drill"])
    assert "```" not in shown
    assert len(shown) > SNIPPET_LENGTH * 0.8


def test_it_starts_with_a_sentence_where_there_is_no_paragraph() -> None:
    text = FILLER * 20 + "The drill went well. " + FILLER * 20
    assert make_snippet(text, ["drill"]).startswith("…The drill went well.")


def test_it_starts_and_ends_with_a_word_where_there_is_no_sentence() -> None:
    text = "alpha beta gamma " * 60 + "drill " + "delta epsilon " * 60
    shown = make_snippet(text, ["drill"]).strip("…").split()
    assert set(shown) == {"alpha", "beta", "gamma", "drill", "delta", "epsilon"}


def test_a_text_without_spaces_is_cut_where_it_must_be() -> None:
    shown = make_snippet("x" * 5000, ["x"])
    assert SNIPPET_LENGTH * 0.9 < len(shown) <= SNIPPET_LENGTH


def test_the_last_part_of_a_text_is_shown_with_what_leads_to_it() -> None:
    shown = make_snippet(FILLER * 40 + "The drill went well.", ["drill"])
    assert shown.endswith("The drill went well.")
    assert len(shown) > SNIPPET_LENGTH / 2


def _fences(text: str) -> int:
    return len(re.findall(r"^```", text, re.MULTILINE))


@pytest.mark.parametrize("place", [0, 5, 15, 30, 45, 59])
@pytest.mark.parametrize("before", [0, 8, 30])
def test_code_is_never_left_half_open(place: int, before: int) -> None:
    lines = [f"step {number} of many" for number in range(60)]
    lines[place] = "the drill command"
    text = FILLER * before + "\n\n```sh\n" + "\n".join(lines) + "\n```\n\n" + FILLER * 30
    shown = make_snippet(text, ["drill", "command"])
    assert "the drill command" in shown
    assert _fences(shown) % 2 == 0
    assert len(shown) <= SNIPPET_LENGTH


def test_a_short_block_of_code_is_shown_from_its_fence() -> None:
    text = FILLER * 20 + "\n```sh\nmake\nmake drill\n```\n" + FILLER * 20
    assert "```sh\nmake\nmake drill\n```" in make_snippet(text, ["drill"])


pieces = st.lists(
    st.sampled_from(
        ["word ", "drill ", "pier. ", "\n\n", "\n# Head\n", "\n```\n", "\n~~~ x\n", "東京都。", "x" * 90, "é\u0301 "]
    ),
    max_size=300,
).map("".join)


@given(pieces, st.integers(60, 900))
def test_it_never_exceeds_its_length_and_shows_a_term(text: str, length: int) -> None:
    shown = make_snippet(text, ["drill"], length)
    assert len(shown) <= length
    assert bool(re.search(r"\bdrill", text)) <= ("drill" in shown)


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("plan", "Plans planned planning PLAN plane plant explain", ["Plans", "planned", "planning", "PLAN", "plane"]),
        ("running", "run runs running runner rung", ["run", "runs", "running", "runner"]),
        ("use", "used using uses us user", ["used", "using", "uses"]),
        ("studying", "study studies studied stud", ["study", "studies", "studied"]),
        ("day", "days daybreak day", ["days", "day"]),
        ("class", "classes clash class", ["classes", "class"]),
        ("community", "command commute communities", ["communities"]),
        ("cafe", "Café CAFÉS caffeine", ["Café", "CAFÉS"]),
        ("café", "cafe", ["cafe"]),
        ("x1", "x1 x12 X1", ["x1", "X1"]),
        ("user_name", "user_name, username", ["user", "name"]),
        ("東京都", "私は東京都に住む", ["東京都"]),
        ("東京都の天気", "東京都に住む", ["東京都"]),
        ("東京都の天気", "天気予報", ["天気"]),
        ("a+b(", "b a", ["b", "a"]),
        ("", "nothing", []),
        ("?", "nothing?", []),
        ("İzmir", "in İzmir and izmir", ["İzmir", "izmir"]),
    ],
)
def test_highlights_are_the_forms_of_a_term_as_they_stand(term: str, text: str, found: list[str]) -> None:
    assert find_highlights(text, [term]) == found


def test_highlights_come_once_in_order_and_are_limited() -> None:
    assert find_highlights("pier plan pier Plan dock", ["plan", "pier", "dock"], limit=3) == ["pier", "plan", "Plan"]


@given(st.text(max_size=200), st.lists(st.text(max_size=6), max_size=5))
def test_a_highlight_stands_in_the_text(text: str, terms: list[str]) -> None:
    assert all(word in text for word in find_highlights(text, terms))


@pytest.mark.parametrize("unit", ["# ", "```\n", "\n\n", "\n", "a ", ". ", "` ~~~", "東", "drill ", "a" * 40, "\u0130"])
def test_hostile_texts_cost_little(unit: str) -> None:
    def shown(text: str) -> None:
        make_snippet(text, ["a", "drill", "東", "#"])
        find_highlights(text, ["a", "drill", "東"])

    assert_linear(shown, lambda size: (unit * size)[:size], 6_000)

"""Which words the first results lend a query.

Covers vaults.search.stopwords.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.search.relevance_feedback import MAX_WORDS, find_feedback_words, strip_inflection
from vaults.search.stopwords import STOPWORDS

TEXTS = [
    "We hiked the Rainier trail in June, the hikes were long and the glacier blue.",
    "The glacier above the Rainier trail is melting; Ann's pictures of the glacier show it.",
    "June again: glacier weather, didn't see Ann, Rainier in fog.",
]


def even(_: str) -> float:
    return 1.0


def test_words_several_of_the_first_texts_share_are_chosen_most_telling_first() -> None:
    assert find_feedback_words(["hiking"], TEXTS, even) == ["glacier", "rainier", "ann", "june", "trail"]


def test_a_rare_word_weighs_more_and_one_without_weight_is_left_out() -> None:
    rarity = {"trail": 9.0, "glacier": 0.0, "rainier": -1.0}
    assert find_feedback_words(["hiking"], TEXTS, lambda word: rarity.get(word, 0.1)) == ["trail", "ann", "june"]


@pytest.mark.parametrize("term", ["glacier", "Glaciers", "GLACIER"])
def test_the_querys_own_words_and_their_inflections_are_not_chosen(term: str) -> None:
    assert "glacier" not in find_feedback_words([term], TEXTS, even)


def test_of_two_inflections_one_is_chosen() -> None:
    assert find_feedback_words(["x"], ["walks walk walking", "walk walks walking"], even) == ["walk"]


def test_a_word_of_one_text_is_chosen_only_when_there_is_no_other_text() -> None:
    assert find_feedback_words(["x"], ["glacier fog", "glacier sun"], even) == ["glacier"]
    assert find_feedback_words(["x"], ["glacier fog"], even) == ["fog", "glacier"]


def test_numbers_contractions_and_stop_words_are_not_words() -> None:
    assert find_feedback_words(["x"], ["2024 10k didn't they're about a_b 3rd _x"] * 2, even) == ["a_b"]


def test_a_short_text_does_not_outweigh_a_long_one() -> None:
    long = "glacier " * 10 + "weather report " * 10
    chosen = find_feedback_words(["x"], ["thanks glacier", "thanks", long], even)
    assert chosen == ["glacier", "thanks"]


def test_rarity_is_asked_for_a_bounded_number_of_words() -> None:
    asked: list[str] = []

    def rarity(word: str) -> float:
        asked.append(word)
        return 1.0

    words = [f"{a}{b}{c}word" for a in "bcdfg" for b in "aeiou" for c in "klmnpqrt"]
    assert len(find_feedback_words([], [" ".join(words)] * 3, rarity)) == MAX_WORDS
    assert len(asked) == 64


@pytest.mark.parametrize(
    "family",
    ["hike hikes hiked hiking", "plan plans planned planning", "study studies studied studying", "box boxes boxed"],
)
def test_inflections_share_a_base(family: str) -> None:
    assert len({strip_inflection(word) for word in family.split()}) == 1


@pytest.mark.parametrize("pair", ["ring red", "string sting", "bus bed", "class clash", "news need"])
def test_other_words_do_not(pair: str) -> None:
    assert len({strip_inflection(word) for word in pair.split()}) == 2


@given(
    st.lists(st.text(max_size=20), max_size=5),
    st.lists(st.text(max_size=200), max_size=6),
    st.integers(0, 7),
    st.sampled_from([even, len, lambda word: -1.0]),
)
def test_any_text_gives_a_bounded_list_of_new_words(
    terms: list[str], texts: list[str], most: int, rarity: Callable[[str], float]
) -> None:
    chosen = find_feedback_words(terms, texts, rarity, most=most)
    assert len(chosen) == len(set(chosen)) <= most
    assert not set(chosen) & (STOPWORDS | {term.lower() for term in terms})
    assert chosen == find_feedback_words(terms, texts, rarity, most=most)

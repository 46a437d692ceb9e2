"""Which titles a text mentions, and which it could."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import assert_linear
from vaults.search.title_mentions import derive_names, find_mentioned, normalize_title, read_mention_text


def _found(text: str, *titles: str) -> set[str]:
    called = {name: title for title in titles for name in derive_names(title)}
    return {called[name] for name in find_mentioned(read_mention_text(text), called)}


def test_titles_are_compared_by_their_words() -> None:
    assert normalize_title("  The Great_Escape: Part-2 ") == "the great escape part 2"
    assert normalize_title("&quot;Q&quot; Is for Quarry") == "q is for quarry"
    assert normalize_title("Cafe\u0301") == normalize_title("CAFÉ") == "café"
    assert normalize_title("İstanbul") == normalize_title("İSTANBUL")


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Mercury (planet)", ("mercury planet", "mercury")),
        ("Mercury", ("mercury",)),
        ("f(x) notes", ("f x notes",)),
        ("(untitled)", ("untitled",)),
        ("A title of far too many words to be said", ()),
        ("who", ()),
        ("!!!", ()),
        ("", ()),
    ],
)
def test_a_qualifier_may_be_left_out(title: str, names: tuple[str, ...]) -> None:
    assert derive_names(title) == names


def test_a_title_of_several_words_counts_in_any_case() -> None:
    assert _found("open the page picker, then PAGE-PICKER again", "Page Picker") == {"Page Picker"}


def test_a_single_word_counts_only_with_a_capital_or_a_link() -> None:
    assert _found("the harbour is closed", "Harbour") == set()
    assert _found("they met in Harbour today", "Harbour") == {"Harbour"}
    assert _found("see [[harbour|there]]", "Harbour") == {"Harbour"}
    assert _found("see [[places/harbour#Gates]]", "Harbour") == {"Harbour"}


def test_a_word_that_stands_elsewhere_in_lower_case_is_a_common_word() -> None:
    assert _found("Spring has come. In spring we plant.", "Spring") == set()


def test_no_title_is_found_inside_a_longer_word() -> None:
    assert _found("Marsh Marshall Submarshal", "Mars", "Marshal") == set()


def test_short_names_and_stop_words_never_count() -> None:
    assert _found("Its Who There Rex [[Rex]] [[there]]", "Who", "There", "Rex", "Its") == set()


def test_the_longer_of_two_overlapping_titles_counts() -> None:
    text = "She moved to New York City in May."
    assert _found(text, "New York", "York", "New York City", "City") == {"New York City"}
    names = ("New York Times", "Times Square Garden Club", "York Times")
    assert _found("from New York Times Square Garden", *names) == {"New York Times"}


def test_linked_and_spoken_names_are_found_together() -> None:
    text = "Vesta met Pallas Athena and Vesta; see [[Juno]]."
    assert _found(text, "Vesta", "Pallas Athena", "Juno", "Ceres") == {"Juno", "Vesta", "Pallas Athena"}


def test_a_title_does_not_reach_across_sentences_but_over_an_abbreviation() -> None:
    assert _found("We went to Paris. Texas was far.", "Paris, Texas") == set()
    assert _found("They flew to St. Louis.", "St. Louis") == {"St. Louis"}
    assert _found("| Paris | Texas |", "Paris, Texas") == set()


def test_titles_that_begin_with_an_article_are_found() -> None:
    assert _found("He heard the Beatles and The Wire.", "The Beatles", "The Wire") == {"The Beatles", "The Wire"}


@given(st.text(max_size=300))
def test_any_text_will_do(text: str) -> None:
    assert normalize_title(normalize_title(text)) == normalize_title(text)
    find_mentioned(read_mention_text(text), derive_names(text))


@pytest.mark.parametrize("unit", ["[[", "[[a|", "\n ", "A ", "Ab.", "( ", "Word word ", "東"])
def test_hostile_texts_cost_little(unit: str) -> None:
    def looked_for(text: str) -> None:
        find_mentioned(read_mention_text(text), [*derive_names(text[:80]), "old mill", "mill"])
        derive_names(text)

    assert_linear(looked_for, lambda size: (unit * size)[:size], 2_500)

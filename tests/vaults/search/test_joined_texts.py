"""Words looked for in many texts at once are found where a look at each text finds them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaults.search.joined_texts import JoinedTexts, find_terms
from vaults.search.word_forms import find_marks

WORDS = [
    "boat",
    "boats",
    "Boating",
    "a",
    "x9",
    "9",
    "über",
    "Ubers",
    "hope",
    "hoping",
    "study",
    "studies",
    "備份",
    "_boat",
]
texts_of_words = st.lists(st.sampled_from([*WORDS, "\n", "-", "'s"]), max_size=8).map(" ".join)


@settings(max_examples=60)
@given(st.lists(texts_of_words, max_size=4), st.lists(st.sampled_from(WORDS), max_size=4))
def test_terms_are_found_as_their_marks_are(texts: list[str], terms: list[str]) -> None:
    each = [{mark.term for mark in find_marks(text, terms)} for text in texts]
    assert find_terms(texts, terms) == each


@given(st.lists(st.text(max_size=12), max_size=5))
def test_each_text_keeps_its_place_and_length(texts: list[str]) -> None:
    joined = JoinedTexts.of(texts, ["below"] * len(texts))
    assert [end - start for start, end in zip(joined.starts, joined.ends, strict=False)] == [
        len(text) for text in texts
    ]
    assert len(joined.ascii) == len(joined.text) == max(0, joined.starts[-1] - 1)
    assert all(joined.row_of(start) == row for row, start in enumerate(joined.starts[:-1]))


def test_a_word_is_found_where_it_begins_and_a_part_anywhere() -> None:
    joined = JoinedTexts.of(["the ferryman", "rowing the ferry"])
    assert [word for _, word in joined.find_words("ferry")] == ["ferryman", "ferry"]
    assert [joined.row_of(at) for at in joined.find("row")] == [1]


@pytest.mark.parametrize("text", ["", "no", "n0"])
def test_digits_are_seen_in_the_last_text_too(text: str) -> None:
    assert JoinedTexts.of(["none", text]).digits.tolist() == [False, "0" in text]

"""Misspelled words are taken for the nearest word of the vault, and only where that is no guess.

Covers vaults.index.stemming, vaults.search.spelling.
"""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaults.db.engine import sqlite
from vaults.index.stemming import stem_as_indexed
from vaults.search.spelling import correct_word

WORDS = (
    "database retrieval configuration deployment language receive memory vector embedding kubernetes harbour token "
    "authentication schedule process migration analogy incredibly assembly possibly plan plane index plum"
)


@pytest.fixture(scope="module")
def vocabulary() -> list[str]:
    """The stems of WORDS as FTS5 stores them."""
    raw = sqlite.connect(":memory:")
    raw.execute("CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')")
    raw.execute("CREATE VIRTUAL TABLE v USING fts5vocab ('f', 'row')")
    raw.execute("INSERT INTO f VALUES (?)", (WORDS,))
    terms = [row[0] for row in raw.execute("SELECT term FROM v")]
    raw.close()
    return terms


def test_stems_are_those_of_the_index(vocabulary: list[str]) -> None:
    assert sorted({stem_as_indexed(word) for word in WORDS.split()}) == vocabulary


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("databse", "database"),
        ("Retreival", "retrieval"),
        ("langauge", "language"),
        ("recieve", "receive"),
        ("memroy", "memory"),
        ("tokne", "token"),
        ("kuberentes", "kubernetes"),
        ("harbor", "harbour"),
        ("authentification", "authentication"),
        ("configuraton", "configuration"),
        ("deploymnet", "deployment"),
        ("proccess", "process"),
    ],
)
def test_slips_find_the_word_that_was_meant(vocabulary: list[str], typed: str, meant: str) -> None:
    assert correct_word(typed, vocabulary) == stem_as_indexed(meant)
    assert correct_word(typed, iter(vocabulary)) == stem_as_indexed(meant)


@pytest.mark.parametrize(
    "typed", ["", "plm", "tok", "toke2n", "harböur", "zanzibar", "tokens", "databases", "hrbr", "embed-ding", "令牌"]
)
def test_no_guess_where_it_would_be_one(vocabulary: list[str], typed: str) -> None:
    assert correct_word(typed, vocabulary) is None


def test_the_more_similar_of_two_as_near_wins_and_then_the_first() -> None:
    assert correct_word("cart", ["dart", "card", "cort"]) == "card"
    assert correct_word("cart", ["cort", "cert"]) == correct_word("cart", ["cert", "cort"]) == "cert"


def test_what_is_no_plain_word_is_never_proposed() -> None:
    assert correct_word("token", ["t0ken", "tökn", "tok-n"]) is None


@settings(deadline=None)
@given(st.text(max_size=40), st.lists(st.text(string.ascii_lowercase + "é1", max_size=12), max_size=20))
def test_any_word_is_answered_from_the_vocabulary_in_any_order(word: str, words: list[str]) -> None:
    found = correct_word(word, words)
    assert found is None or found in words
    assert correct_word(word, reversed(words)) == found

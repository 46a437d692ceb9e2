"""Queries are literal text: whatever is typed, FTS5 sees quoted words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.db.engine import sqlite
from vaults.search.query import MAX_TERMS, parse
from vaults.search.snippets import LENGTH, snippet

SYNTAX = [
    '"',
    "AND",
    "OR NOT",
    "NEAR(a b, 3)",
    "*",
    "col:x",
    "title:y",
    "(" * 500,
    "a" * 5000,
    "^x",
    "-x",
    "+",
    "{a b}: c",
]


@pytest.fixture(scope="module")
def fts() -> sqlite.Connection:
    raw = sqlite.connect(":memory:")
    raw.execute("CREATE VIRTUAL TABLE f USING fts5 (title, body, tokenize = 'porter unicode61')")
    raw.execute("INSERT INTO f VALUES ('a', 'hello near and or not x y col')")
    yield raw
    raw.close()


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_is_never_handed_through(fts: sqlite.Connection, text: str) -> None:
    match = parse(text).match
    if match:
        fts.execute("SELECT rowid FROM f WHERE f MATCH ?", (match,)).fetchall()


@given(st.text(max_size=300))
def test_any_text_is_a_valid_query(text: str) -> None:
    query = parse(text)
    assert len(query.terms) <= MAX_TERMS
    raw = sqlite.connect(":memory:")
    raw.execute("CREATE VIRTUAL TABLE f USING fts5 (body)")
    if query.match:
        raw.execute("SELECT rowid FROM f WHERE f MATCH ?", (query.match,)).fetchall()
    raw.close()


def test_stop_words_are_dropped_unless_there_is_nothing_else() -> None:
    assert parse("What is the plan for the harbour?").terms == ("plan", "harbour")
    assert parse("to be or not to be").terms == ("to", "be", "or", "not")


@given(st.text(max_size=3000), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_a_snippet_is_bounded_and_taken_from_the_text(text: str, terms: list[str]) -> None:
    cut = snippet(text, terms)
    assert len(cut) <= LENGTH + 2
    assert cut.strip("…").strip() in text or len(text) <= LENGTH


def test_a_snippet_shows_the_term() -> None:
    text = "filler words " * 200 + "the zanzibar clause " + "more filler " * 200
    assert "zanzibar" in snippet(text, ["zanzibar"])

"""What is searched for: terms without stop words, whatever is typed, and FTS5 sees only quoted words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaults.db.engine import sqlite
from vaults.search.query import MAX_QUERY, MAX_TERMS, Query, parse_literal, parse_query

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
    'left AND (right OR "two words") NOT auth*',
]


@pytest.fixture(scope="module")
def fts() -> Iterator[sqlite.Connection]:
    raw = sqlite.connect(":memory:")
    raw.execute("CREATE VIRTUAL TABLE f USING fts5 (title, body, tokenize = 'porter unicode61 remove_diacritics 2')")
    raw.execute("INSERT INTO f VALUES ('a', 'hello near and or not x y col')")
    raw.execute("INSERT INTO f VALUES ('b', 'हिन्दी cafe\u0301 snake_case')")
    yield raw
    raw.close()


def found(fts: sqlite.Connection, query: Query) -> set[int]:
    return {row[0] for row in fts.execute("SELECT rowid FROM f WHERE f MATCH ?", (query.match,))}


@pytest.mark.parametrize("text", SYNTAX)
def test_nothing_is_an_operator_in_a_literal_query(fts: sqlite.Connection, text: str) -> None:
    query = parse_literal(text)
    assert (query.must, query.prefixes, query.warnings) == (None, frozenset(), ())
    if query.match:
        assert " AND " not in query.match
        found(fts, query)


@settings(deadline=None)
@given(st.text(st.characters(), max_size=300))
def test_any_text_is_a_valid_query(fts: sqlite.Connection, text: str) -> None:
    for query in (parse_literal(text), parse_query(text)):
        assert query.text == text
        assert len(query.terms) <= MAX_TERMS
        if query.match:
            found(fts, query)


def test_words_without_operators_read_the_same_both_ways() -> None:
    text = "What did Alice say about the state-of-the-art harbour_plan, 'next' year?"
    assert parse_query(text) == parse_literal(text)


def test_stop_words_are_dropped_unless_there_is_nothing_else() -> None:
    assert parse_query("What is the plan for the harbour?").terms == ("plan", "harbour")
    assert parse_query("to be or not to be").terms == ("to", "be", "or", "not")
    assert parse_query("her*").terms == ("her",)


@pytest.mark.parametrize("text", ["", " \n\t", "?!… 🙂", "__ _", "\0"])
def test_text_without_words_looks_for_nothing(text: str) -> None:
    query = parse_query(text)
    assert (query.terms, query.match, query.must, query.unspaced) == ((), None, None, ())


def test_long_text_is_bounded() -> None:
    pasted = " ".join(f"word{number}" for number in range(20_000))
    for query in (parse_query(pasted), parse_literal(pasted)):
        assert query.terms == tuple(f"word{number}" for number in range(MAX_TERMS))
    assert parse_query("word " * MAX_QUERY + " last").terms == ("word",)


@pytest.mark.parametrize("text", ["हिन्दी", "café", "CAFE\u0301", "snake_case", "case"])
def test_words_are_found_in_any_spelling_of_their_accents(fts: sqlite.Connection, text: str) -> None:
    assert found(fts, parse_query(text)) == {2}
    assert len(parse_query(text).terms) == 1


def test_text_in_scripts_without_spaces_is_kept_apart_as_well() -> None:
    query = parse_query("deploy 令牌预算 と ﾄｰｸﾝ NOT 星期五")
    assert query.unspaced == ("令牌预算", "と", "トークン")
    assert query.terms[0] == "deploy"
    assert parse_query("harbour plan").unspaced == ()

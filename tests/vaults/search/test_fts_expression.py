"""Operators: what hits have to satisfy is what was asked for, in FTS5 of our own making.

Covers vaults.search.syntax.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.db.engine import sqlite
from vaults.index.stemming import stem_as_indexed
from vaults.search.fts_expression import prefix_expression
from vaults.search.query import correct_terms, parse_query
from vaults.search.syntax import COLUMNS, MAX_DEPTH, MAX_TOKENS

TOKENIZER = "porter unicode61 remove_diacritics 2"
LETTERS = ("anchor", "basalt", "cobalt", "dynamo")
SUBSETS = [{word for bit, word in enumerate(LETTERS) if number >> bit & 1} for number in range(2 ** len(LETTERS))]


@pytest.fixture(scope="module")
def fts() -> Iterator[sqlite.Connection]:
    raw = sqlite.connect(":memory:")
    raw.execute(f"CREATE VIRTUAL TABLE f USING fts5 (title, body, labels, tokenize = '{TOKENIZER}')")
    rows = [(number, "", " ".join(sorted(words)) + " filler", "") for number, words in enumerate(SUBSETS, 1)]
    rows += [
        (101, "token budget", "how packs are cut", "alice context-window"),
        (102, "budget of a token", "the exact token budget phrase", ""),
        (103, "authentication", "generated tokens for callers", "security auth-flow"),
        (104, "notes", "authors of the pre-commit hook", "bob"),
    ]
    raw.executemany("INSERT INTO f (rowid, title, body, labels) VALUES (?, ?, ?, ?)", rows)
    yield raw
    raw.close()


def rows_of(fts: sqlite.Connection, expression: str | None) -> set[int]:
    assert expression is not None
    return {row[0] for row in fts.execute("SELECT rowid FROM f WHERE f MATCH ?", (expression,))}


@pytest.mark.parametrize(
    ("text", "must", "terms"),
    [
        ('"token budget"', '"token budget"', ("token", "budget")),
        ('"token budget" AND packs', '"token budget" AND "packs"', ("token", "budget", "packs")),
        (
            "deploy AND (staging OR prod) NOT friday",
            '("deploy" AND ("staging" OR "prod")) NOT "friday"',
            ("deploy", "staging", "prod"),
        ),
        ("deploy notes NOT friday", '("deploy" OR "notes") NOT "friday"', ("deploy", "notes")),
        ("red OR blue NOT green", '"red" OR ("blue" NOT "green")', ("red", "blue")),
        ("red AND NOT blue", '"red" NOT "blue"', ("red",)),
        ("to AND be", '"to" AND "be"', ("to", "be")),
        ("NOT null AND void", '"null" AND "void"', ("null", "void")),
        ("pre-commit AND hook", '"pre commit" AND "hook"', ("pre", "commit", "hook")),
        ("title:api limits", 'title : "api"', ("api", "limits")),
        ('Title:"two words"', 'title : "two words"', ("two", "words")),
        ("text:api", 'body : "api"', ("api",)),
        ("tag:#auth-flow", 'labels : "auth flow"', ("auth", "flow")),
        ("author:@mike OR tag:x1", 'labels : "mike" OR labels : "x1"', ("mike", "x1")),
        ("auth*", '"auth"*', ("auth",)),
        ("auth* her*", '"auth"* OR "her"*', ("auth", "her")),
        ("auth* AND token", '"auth"* AND "token"', ("auth", "token")),
        ("call(one OR two) AND (three)", '"one" OR ("two" AND "three")', ("call", "one", "two", "three")),
    ],
)
def test_operators_say_what_is_required(text: str, must: str, terms: tuple[str, ...]) -> None:
    query = parse_query(text)
    assert (query.must, query.terms, query.warnings) == (must, terms, ())


@pytest.mark.parametrize(
    "text",
    [
        "plain words only",
        "well-known state-of-the-art",
        '"single" words in "quotes"',
        "lower and case or not operators",
        "AND first",
        "last OR",
        "NOT null",
        "red AND OR blue",
        "NEAR(one two, 3) ^start +plus -minus",
        '5" and 3" disks',
        '"never closed',
        "(never closed",
        "never opened)",
        "() AND (())",
        "() AND harbour",
        "auth* login",
        "**bold** *it* char *p",
        "https://example.com/x?y=z mailto:a@b.c",
        "at 10:30 on localhost:8080",
        r"C:\temp D:/x",
        "std::move a::b",
        'title: spaced, key:"',
    ],
)
def test_everything_else_is_literal(text: str) -> None:
    query = parse_query(text)
    assert query.must is None
    assert query.warnings == ()


def test_a_literal_query_ranks_by_the_same_terms_as_ever() -> None:
    assert parse_query("NEAR(one two, 3) AND").match == '"near" OR "one" OR "two" OR "3"'


@pytest.mark.parametrize("text", ["path:src api", 'path:"src api"', "Path:src OR api"])
def test_an_unknown_field_is_text_and_named_with_the_known_ones(text: str) -> None:
    query = parse_query(text)
    assert query.terms == ("path", "src", "api")
    assert len(query.warnings) == 1
    assert "path:" in query.warnings[0]
    assert all(column in query.warnings[0] for column in COLUMNS)


def test_what_cannot_be_required_is_not_and_said_so() -> None:
    only_not = parse_query("令牌 NOT friday")
    assert only_not.must is None
    assert only_not.terms == ("令牌",)
    assert any("NOT was not applied" in warning for warning in only_not.warnings)
    either = parse_query("deploy OR 令牌")
    assert either.must is None, "requiring the other word would hide what was asked for"
    assert either.warnings
    both = parse_query("deploy AND 令牌")
    assert both.must == '"deploy"'
    assert both.warnings
    negated = parse_query("deploy NOT (friday AND 令牌)")
    assert negated.must is None, "no more than was asked for must be taken away"
    assert negated.warnings
    assert negated.unspaced == ()
    assert parse_query("deploy NOT (friday NOT 令牌)").must is None, "not every friday was to be taken away"


def test_a_phrase_in_a_sentence_ranks_and_is_not_required() -> None:
    query = parse_query('who sang "All Join Hands" first')
    assert query.must is None
    assert query.phrases == ("all join hands",)
    assert '"all join hands"' in (query.match or "")


def test_columns_phrases_and_prefixes_find_the_rows_they_name(fts: sqlite.Connection) -> None:
    found = {
        '"token budget"': {101, 102},
        "title:budget": {101, 102},
        'title:"token budget"': {101},
        "tag:context-window": {101},
        "author:alice OR author:bob": {101, 104},
        "auth*": {101 + 2, 104},
        "title:auth*": {103},
        "title:generat*": set(),
        "body:generat*": {103},
        "body:hook NOT body:packs": {104},
    }
    assert {text: rows_of(fts, parse_query(text).must) for text in found} == found


def test_a_prefix_longer_than_the_stem_of_its_words_still_finds_them(fts: sqlite.Connection) -> None:
    assert stem_as_indexed("generated") == "gener"
    assert rows_of(fts, prefix_expression("generat")) == {103}
    assert rows_of(fts, prefix_expression("authenticat")) == {103}


# An independent meaning of boolean text: a set of documents for each word.
def all_rows_with(word: str) -> set[int]:
    return {number for number, words in enumerate(SUBSETS, 1) if word in words}


def combined(parts: tuple[tuple[str, set[int]], str, tuple[str, set[int]]]) -> tuple[str, set[int]]:
    (left, in_left), operator, (right, in_right) = parts
    rows = {"AND": in_left & in_right, "OR": in_left | in_right}.get(operator, in_left - in_right)
    return f"({left} {operator} {right})", rows


LEAVES = st.sampled_from(LETTERS).map(lambda word: (word, all_rows_with(word)))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR", "NOT", "AND NOT"]), inner).map(combined),
    max_leaves=10,
)


@settings(max_examples=examples(150), deadline=None)
@given(TREES)
def test_boolean_text_means_what_sets_mean(fts: sqlite.Connection, tree: tuple[str, set[int]]) -> None:
    text, rows = tree
    depth = max((text[:end].count("(") - text[:end].count(")") for end in range(len(text))), default=0)
    must = parse_query(text).must
    if must is None:
        assert text in LETTERS or depth > MAX_DEPTH
    elif depth <= MAX_DEPTH:
        assert rows_of(fts, must) == rows, (text, must)


WORDS = "AND OR NOT NEAR( title: tag: x: anchor ab* a-b __ 令牌 ไทย é \u0301 🙂 ١٢ हिन्दी".split()  # noqa: SIM905
PIECES = st.sampled_from([*WORDS, *(f" {word} " for word in WORDS), *"\"()*:'^+-{} \\\n\0\ud800"])


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(st.text(st.characters(), max_size=200), st.lists(PIECES, max_size=60).map("".join)))
@example("(" * 5000 + "a OR b" + ")" * 5000)
@example('"a b" AND ' * 2000)
@example("a NOT b " * 2000)
@example("令 " * 3000)
@example('title:"' * 1500)
@example("x:y " * 2500)
def test_any_text_at_all_gives_expressions_that_run(fts: sqlite.Connection, text: str) -> None:
    query = parse_query(text)
    for expression in (query.match, query.must):
        if expression is not None:
            rows_of(fts, expression)
            # The caller of the word index may keep it to columns of the text itself.
            rows_of(fts, f"{{title body labels}} : ({expression})")
    assert len(query.terms) <= 48
    assert len(query.warnings) <= 4


def test_operators_beyond_the_bounds_are_not_applied_by_half() -> None:
    def nested(depth: int) -> str:
        return "a1 NOT (" * depth + "b1 c1" + ")" * depth

    assert parse_query(nested(MAX_DEPTH)).must is not None
    assert parse_query("((((((((((( a1 AND b1").must == '"a1" AND "b1"', "what is never closed is not nested"
    for text in (nested(MAX_DEPTH + 1), "a1 AND (b1 OR " + "c1 " * MAX_TOKENS + ")"):
        query = parse_query(text)
        assert query.must is None
        assert len(query.warnings) == 1
    pasted = parse_query("so many f(plain) words " * MAX_TOKENS)
    assert pasted.warnings == ()


def test_corrections_stand_beside_what_was_typed_and_are_said() -> None:
    query = correct_terms(parse_query("retreival agreeed plan"), {"retreival": "Retrieval", "agreeed": "agreed"})
    assert query.terms == ("retreival", "retrieval", "agreeed", "agreed", "plan")
    assert query.warnings == ('taken for a slip: "retreival" (searched: "Retrieval"), "agreeed" (searched: "agreed")',)
    assert correct_terms(query, {"other": "word"}) is query

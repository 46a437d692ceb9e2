"""What is kept of arguments: the allow-list and nothing else.

Covers server.query_context.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.query_context import KEPT_ARGUMENTS, MAX_CHARACTERS, estimate_tokens, format_query_context

VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(), max_size=3)
ARGUMENTS = st.dictionaries(
    st.sampled_from((*KEPT_ARGUMENTS, "content", "path", "session")) | st.text(max_size=8), VALUES
)


def test_only_the_arguments_of_the_list_are_kept_in_its_order():
    arguments = {"content": "the whole letter", "date": "2026-11-22", "query": "ferry times", "limit": 3}
    assert format_query_context(arguments) == "query=ferry times\ndate=2026-11-22"


def test_a_call_that_asks_for_nothing_keeps_nothing():
    assert format_query_context({}) is None
    assert (
        format_query_context({"content": "letter", "query": None, "field": ["a"], "concept": {"a": 1}, "date": 3})
        is None
    )


def test_a_value_cannot_pass_for_another_argument():
    assert (
        format_query_context({"query": "ferry\nentity=someone\u2028concept=x"})
        == "query=ferry entity=someone concept=x"
    )


def test_what_no_database_takes_is_left_out():
    assert format_query_context({"query": "a\ud800b\x00c"}) == "query=a b c"


@given(ARGUMENTS)
def test_whatever_is_sent_the_kept_lines_are_short_and_of_the_list(arguments):
    kept = format_query_context(arguments)
    if kept is not None:
        assert 0 < len(kept) <= MAX_CHARACTERS
        assert all(line.partition("=")[0] in KEPT_ARGUMENTS for line in kept.splitlines() if "=" in line)
        assert kept.count("\n") < len(KEPT_ARGUMENTS)


def test_tokens_are_a_quarter_of_the_characters_rounded_up():
    assert [estimate_tokens(each) for each in (0, 1, 4, 5, 400)] == [0, 1, 1, 2, 100]

"""Plain words are read without the parser of operators, and mean what it says they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.search import syntax
from vaults.search.syntax import read_operators

WORDS = st.sampled_from(
    ["harbour", "the", "don't", "AND", "OR", "NOT", "ANDs", "a", "語言", "é-b", "_", "…", "x,y", "\u00a0", "Or", "12"]
)


@given(words=st.lists(WORDS | st.text(max_size=6), max_size=12), blank=st.sampled_from([" ", "  ", "\n", "\u2003"]))
def test_plain_words_are_read_as_the_parser_reads_them(words: list[str], blank: str) -> None:
    text = blank.join(words)
    assert read_operators(text) == parsed(text)


def test_of_a_long_text_the_first_words_are_read_either_way() -> None:
    text = "word " * (syntax.MAX_TOKENS + 10)
    assert read_operators(text) == parsed(text)
    assert len(read_operators(text).operands) == syntax.MAX_TOKENS


def parsed(text: str) -> syntax.ParsedOperators:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(syntax, "_MAY_ASK", syntax.re.compile(""))
        return read_operators(text)

"""Lines of notes: numbered alike whatever ends them, cut where a budget ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.notes.read import line_ranges
from vaults.search import tokenizer

TEXTS = st.text(st.sampled_from("ab \n\r\u2028\x0b\x85ä"), max_size=60)


@given(TEXTS, st.integers(1, 12), st.integers(1, 12))
def test_stretches_are_those_of_the_lines(text: str, first: int, number: int) -> None:
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = whole.split("\n")[: None if whole[-1:] != "\n" else -1] if whole else []
    assert line_ranges.count_lines(text) == len(plain)
    start, end = line_ranges.line_offsets(text, first, number)
    shown = text[start:end].replace("\r\n", "\n").replace("\r", "\n")
    assert shown.removesuffix("\n").split("\n") == (plain[first - 1 : first - 1 + number] or [""])
    assert line_ranges.line_offsets(text, first, None) == (line_ranges.line_offsets(text, first, 1)[0], len(text))


@given(TEXTS, st.integers(1, 30))
def test_bytes_cut_at_a_line_and_never_in_a_character(text: str, most: int) -> None:
    size = line_ranges.count_within_bytes(text, most)
    assert len(text[:size].encode()) <= most
    whole = size == len(text) or text[size - 1 : size] in ("\n", "\r")
    first = len(text[: line_ranges.line_offsets(text, 1, 1)[1]].encode())
    assert whole or first > most or "\r\n" in text


@pytest.mark.parametrize("text", ["word " * 4000, "line of some words\n" * 2000, "ä" * 9000, "\n" * 5000])
def test_tokens_are_within_the_budget_and_something_is_shown(text: str) -> None:
    size = line_ranges.count_within_tokens(text, 100)
    assert 0 < size < len(text)
    assert tokenizer.count_tokens(text[:size]) <= 100


def test_a_line_of_megabytes_is_not_counted_to_its_end() -> None:
    assert 0 < line_ranges.count_within_tokens("x" * 5_000_000, 50) < 1000

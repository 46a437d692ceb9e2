"""Texts that are one word to the encoder, such as a picture inside a note."""

from __future__ import annotations

import pytest

from vaults.search import tokenizer


@pytest.mark.parametrize("text", ["QUJD" * 100_000, "語" * 90_000, "🎉" * 60_000, "|a" * 100_000, "[a](" * 80_000])
def test_a_text_without_an_end_of_word_is_counted(text: str) -> None:
    assert len(text) / 20 < tokenizer.count_tokens(text) <= len(text.encode())


def test_pieces_count_as_the_whole_does_but_for_their_borders() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 2_000
    assert (
        abs(
            tokenizer.count_tokens(text)
            - 2_000 * tokenizer.count_tokens("The quick brown fox jumps over the lazy dog. ")
        )
        <= 2_010
    )


@pytest.mark.parametrize(("text", "tokens"), [("Hello world", 2), ("", 0), ("short", 1), ("Hello 🌍", 4)])
def test_tokens_are_those_of_cl100k_base(text: str, tokens: int) -> None:
    assert tokenizer.count_tokens(text) == tokens

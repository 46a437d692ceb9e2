"""Texts that are one word to the encoder, such as a picture inside a note."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.search import tokenizer

if TYPE_CHECKING:
    import bpe_openai

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((*ROOT.glob("docs/*.md"), *ROOT.glob("server/tools/*.py"), *ROOT.glob("vaults/search/languages/*.txt")))
CHARACTERS = "".join(chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) not in ("Cn", "Cs"))
"""Assigned ones: of newer ones the two libraries' tables of Unicode may think differently."""


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


@pytest.fixture(scope="module")
def other() -> bpe_openai.Encoding:
    """Another library's cl100k."""
    import bpe_openai  # reads three vocabularies, which nobody else needs

    return bpe_openai.get_encoding("cl100k_base")


def test_texts_and_code_count_as_another_library_counts_them(other: bpe_openai.Encoding) -> None:
    assert len(PAGES) > 50
    texts = [page.read_text(encoding="utf-8")[: tokenizer.PIECE_CHARACTERS] for page in PAGES]
    differ = [
        (page.name, ours, theirs)
        for page, text in zip(PAGES, texts, strict=True)
        if (ours := tokenizer.count_tokens(text)) != (theirs := len(other.encode_ordinary(text)))
    ]
    assert differ == []


@given(text=st.text(st.sampled_from(CHARACTERS) | st.sampled_from(" \n\t'sS1a"), max_size=60))
def test_any_text_counts_as_another_library_counts_it(other: bpe_openai.Encoding, text: str) -> None:
    assert tokenizer.count_tokens(text) == len(other.encode_ordinary(text))


def test_nothing_of_a_text_is_a_mark_of_its_end() -> None:
    assert tokenizer.count_tokens("<|endoftext|>") > 1


def test_the_vocabulary_is_whole(other: bpe_openai.Encoding) -> None:
    assert list(tokenizer.read_vocabulary()) == [*map(other.decode_single_token_bytes, range(tokenizer.SIZE))]


def test_several_who_come_first_load_the_vocabulary_once(monkeypatch: pytest.MonkeyPatch) -> None:
    alone: list[bool] = []
    monkeypatch.setattr(tokenizer, "_load_encoding", lambda: alone.append(tokenizer._loading.locked()))
    tokenizer._encoding()
    assert alone == [True]
    assert not tokenizer._loading.locked()


def test_the_vocabulary_is_kept_once() -> None:
    tokenizer.count_tokens("harbour")
    assert not tokenizer._encoding()._mergeable_ranks

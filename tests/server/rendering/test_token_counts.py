"""Tokens of an answer: a form that is not counted never takes more than the answer is said to.

Covers server.rendering.plain_text.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from server.rendering import token_counts
from server.rendering.plain_text import EvidenceItem, TextAnswer, render_text
from vaults.search import tokenizer

PIECES = (
    "word", " ", "harbour opens", "\n", "<!--", "<system>", "\u200b", "\x01", "§1 ", "!!", "]}", '"', "\\", "東京", "…",
    "🙂", "\u202e", "'s", "12", "\r\n\t", "a" * 40, "}, {", "![x](https://a/b)",
)  # fmt: skip

repeated = st.builds(lambda piece, times: piece * times, st.sampled_from(PIECES), st.integers(1, 120))
texts = st.lists(repeated, max_size=3).map("".join)
rows = st.lists(texts, max_size=12)


def row(number: int, said: str) -> dict[str, Any]:
    """As long beside its text as the hits of a search are."""
    at = f"2026-11-22T09:{number:02}:00Z"
    return {"id": f"01a2051e-c54c-706e-82ef-c403ebf0cf{number:02}", "type": "fact", "author": "owner", "score": 0.5,
            "created_at": at, "signals": {"keyword": 0.91, "semantic": 0.33}, "content": said}  # fmt: skip


def both(said: list[str]) -> tuple[dict[str, Any], str]:
    content = {"hits": [row(number, each) for number, each in enumerate(said)], "total": len(said)}
    items = [
        EvidenceItem(("fact", "owner now", each["id"], "score 0.5"), {}, each["content"]) for each in content["hits"]
    ]  # type: ignore[index, attr-defined]
    return content, render_text(TextAnswer(f"{len(said)} memories.", items))


def check(said: list[str]) -> None:
    content, text = both(said)
    written = token_counts.serialize(content)
    told = token_counts.count_tokens(written, text)
    assert max(tokenizer.count_tokens(written), tokenizer.count_tokens(text)) <= told


@given(rows)
def test_no_answer_takes_more_tokens_than_it_is_said_to(said: list[str]) -> None:
    check(said)


def test_a_text_that_says_less_is_not_counted(monkeypatch: Any) -> None:
    content, text = both(["The harbour opens at nine."] * 10)
    counted: list[str] = []
    count = tokenizer.count_tokens
    monkeypatch.setattr(tokenizer, "count_tokens", lambda each: counted.append(each) or count(each))
    token_counts.count_tokens(token_counts.serialize(content), text)
    assert text not in counted


def test_a_text_that_spells_out_more_is_counted() -> None:
    text = "a harbour opens " * 50
    assert token_counts.count_tokens('{"a": 1}', text) == tokenizer.count_tokens(text)

"""Exact cl100k token counts, and keeping an answer within them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any


def count_tokens(text: str) -> int:
    """Tokens of ``text`` in cl100k. Loads the vocabulary (inside the wheel) on first use: 0.4 s, 60 MB. A text of more
    than ``PIECE_CHARACTERS`` characters is counted in pieces: the encoder refuses words of 100,000 tokens, and at a
    border one word may be counted as two."""
    clean, encode = text.encode("utf-8", "replace").decode("utf-8"), _encoding().encode_ordinary
    return sum(len(encode(clean[start : start + PIECE_CHARACTERS])) for start in range(0, len(clean), PIECE_CHARACTERS))


PIECE_CHARACTERS = 20_000
"""Characters counted at a time: some are five tokens."""


def surely_fits(texts: Sequence[str], max_tokens: int) -> bool:
    """Whether the texts fit, without counting: a byte-level token is one byte at least."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) <= max_tokens


QUICK_BYTES = 20_000
"""Bytes counted in well under a millisecond once the vocabulary is loaded."""


def is_quick_to_count(texts: Sequence[str]) -> bool:
    """Whether counting these takes no longer than handing them to another thread."""
    return _encoding.cache_info().currsize > 0 and sum(map(len, texts)) <= QUICK_BYTES


def count_fitting(texts: Sequence[str], max_tokens: int, count: Callable[[str], int] = count_tokens) -> int:
    """How many of ``texts``, best first, fit into ``max_tokens`` together; at least one. ``count`` is another where
    texts recur: ``TokenCounts.of``. Blocking on first use."""
    used = 0
    for number, text in enumerate(texts):
        used += count(text)
        if used > max_tokens:
            return max(1, number)
    return len(texts)


@cache
def _encoding() -> Any:
    import bpe_openai

    return bpe_openai.get_encoding("cl100k_base")

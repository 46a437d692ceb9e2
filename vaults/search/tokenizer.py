"""Exact cl100k token counts, and keeping an answer within them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from threading import Lock
from typing import Any

SIZE = 100_256
"""Tokens that stand for text. Those that mark where a text ends count as the text they are written as."""

_WORDS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
"""The words a text is cut into first, as cl100k defines them: no token reaches from one into the next."""


def count_tokens(text: str) -> int:
    """Tokens of ``text`` in cl100k. Loads the vocabulary (``cl100k.zlib``) on first use: 0.25 s, 28 MB. A text of more
    than ``PIECE_CHARACTERS`` characters is counted in pieces, because one long word may take a while, and at a border
    one word may be counted as two."""
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return sum(
        _count_piece(clean[start : start + PIECE_CHARACTERS]) for start in range(0, len(clean), PIECE_CHARACTERS)
    )


def _count_piece(text: str) -> int:
    """Word by word, in a fifth of the time for words met before: no token reaches across a single blank between two
    words, and the blank belongs to what follows it. Beside other white space it may not."""
    words = text.split(" ")
    if words != text.split():
        return len(_encoding().encode_ordinary(text))
    return _WORD_TOKENS.count(words[0]) + sum(map(_WORD_TOKENS.__getitem__, words[1:]))


class _WordTokens(dict[str, int]):
    """Tokens of a word with the blank before it. Safe from any thread: at worst one is counted twice."""

    def __missing__(self, word: str) -> int:
        counted = self.count(f" {word}")
        if len(word) <= MAX_WORD:
            if len(self) >= MAX_WORDS:
                self.clear()
            self[word] = counted
        return counted

    @staticmethod
    def count(text: str) -> int:
        return len(_encoding().encode_ordinary(text))


MAX_WORDS, MAX_WORD = 20_000, 48
"""Words whose tokens are remembered, at most, and characters of one, at most, which ids in quotes have: 3 MB."""

_WORD_TOKENS = _WordTokens()


PIECE_CHARACTERS = 20_000
"""Characters counted at a time: some are five tokens."""


def surely_fits(texts: Sequence[str], max_tokens: int) -> bool:
    """Whether the texts fit, without counting: a byte-level token is one byte at least."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) <= max_tokens


QUICK_BYTES = 12_000
"""Bytes counted in well under a millisecond once the vocabulary is loaded; as JSON they may be a third more."""


def is_quick_to_count(texts: Iterable[str]) -> bool:
    """Whether counting these takes no longer than handing them to another thread."""
    return _load_encoding.cache_info().currsize > 0 and sum(map(len, texts)) <= QUICK_BYTES


def count_fitting(texts: Sequence[str], max_tokens: int, count: Callable[[str], int] = count_tokens) -> int:
    """How many of ``texts``, best first, fit into ``max_tokens`` together; at least one. ``count`` is another where
    texts recur: ``TokenCounts.of``. Blocking on first use."""
    used = 0
    for number, text in enumerate(texts):
        used += count(text)
        if used > max_tokens:
            return max(1, number)
    return len(texts)


def read_vocabulary() -> Iterator[bytes]:
    """The tokens, in the order of their numbers. The file holds a byte for the length of each, and then all of them."""
    told = zlib.decompress((files("vaults.search") / "cl100k.zlib").read_bytes())
    return (told[begin:end] for begin, end in pairwise(accumulate(told[:SIZE], initial=SIZE)))


_loading = Lock()
"""Held by whoever asks for the vocabulary: several who came first at once would load it once each, at 45 MB."""


def _encoding() -> Any:
    with _loading:
        return _load_encoding()


@cache
def _load_encoding() -> Any:
    import tiktoken

    numbers = {token: number for number, token in enumerate(read_vocabulary())}
    # Given the vocabulary, it looks for none on the network.
    encoding = tiktoken.Encoding("cl100k_base", pat_str=_WORDS, mergeable_ranks=numbers, special_tokens={})
    numbers.clear()  # it has tables of its own, and keeps ours, 14 MB, for nothing that is asked of it here
    return encoding

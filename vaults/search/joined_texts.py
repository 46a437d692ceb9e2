"""Many texts as one, so that a word is looked for in all of them at once. Pure.

Python goes over a long text in one call as fast as memory allows; a call for each of a hundred texts and ten words
costs more than everything else in a search.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING

from vaults.search.word_forms import WORD, find_terms_by_line, fold

if TYPE_CHECKING:
    from vaults.index.flat_vectors import Mask

_ZERO, _NINE = ord("0"), ord("9")
_END = b" "  # so that an empty last text has a place, too
_GAPS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))


@dataclass(frozen=True)
class JoinedTexts:
    """``text``: all of them folded, each on a line of its own and as long as it was. ``starts``: where each begins, and
    where a further one would. ``ends``: where each ends, and what stands below it begins."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[str], below: Sequence[str] = ()) -> JoinedTexts:
        """``texts`` joined, with what stands ``below`` each, such as its title."""
        whole = [f"{text}\n{more}" for text, more in zip(texts, below, strict=True)] if below else texts
        starts = tuple(accumulate([len(text) + 1 for text in whole], initial=0))
        ends = tuple(map(add, starts, map(len, texts)))
        text = "\n".join(whole)
        return cls(text.lower() if text.isascii() else "\n".join(map(fold, whole)), starts, ends)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row_of(self, at: int) -> int:
        """The number of the text that holds this place."""
        return bisect_right(self.starts, at) - 1

    @cached_property
    def ascii(self) -> bytes:
        """All of it in ASCII, each character at its place, and a space for whatever is no letter or digit there."""
        return self.text.encode("ascii", "replace").translate(_GAPS)

    @cached_property
    def digits(self) -> Mask:
        """Which texts hold a digit, what stands below them apart."""
        import numpy as np

        codes = np.frombuffer(self.ascii + _END, dtype=np.uint8)
        digits = (codes >= _ZERO) & (codes <= _NINE)
        edges = np.array([self.starts[:-1], self.ends]).T.ravel()
        found: Mask = np.logical_or.reduceat(digits, edges)[::2]
        return found

    def find_words(self, beginning: str) -> Iterator[tuple[int, str]]:
        """Every word that begins so, and its place."""
        text = self.text
        place = text.find(beginning)
        while place >= 0:
            word = WORD.match(text, place) if not place or not text[place - 1].isalnum() else None
            if word is not None:
                yield place, word[0]
            place = text.find(beginning, place + len(beginning))

    def find(self, part: str) -> Iterator[int]:
        """Every place where ``part`` begins, within words too."""
        at = self.text.find(part)
        while at >= 0:
            yield at
            at = self.text.find(part, at + 1)


def find_terms(texts: Sequence[str], terms: Sequence[str]) -> list[set[int]]:
    """The numbers of ``terms`` that each of ``texts`` holds in some form: what ``find_marks`` finds, in all of them at
    once."""
    starts = tuple(accumulate((len(text) + 1 for text in texts), initial=0))
    return find_terms_by_line("\n".join(map(fold, texts)), starts, terms)

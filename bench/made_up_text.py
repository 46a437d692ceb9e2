"""Made-up English-like text: words by Zipf's law, sentences of seeded chance. Nothing is read from outside.

The content words are the whole words of the bundled model's own vocabulary, in its order, which is roughly by how
common they are; so a sentence costs the model as many tokens as real English does. Function words make up some four
in ten, as in real text, because dropping them is part of what a search does.
"""

from __future__ import annotations

import json
from bisect import bisect
from functools import cache
from itertools import accumulate
from random import Random

FUNCTION_WORDS = (
    "the of and to a in is that it for on with as was by this are from be at or an we not have you which will can "
    "when there if been would more who so no out up about into than them could its then do my over such our after"
)
FUNCTION_SHARE = 0.4
VOCABULARY = 12_000
SENTENCE = (6, 22)
"""Words of a sentence, evenly spread: 14 on average."""


class TextWriter:
    """Sentences and queries from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._words = _words()

    def sentence(self) -> str:
        """14 words on average, with a capital and a full stop."""
        words = self._some(self._random.randint(*SENTENCE))
        return f"{words[0].capitalize()} {' '.join(words[1:])}."

    def query(self) -> str:
        """Three to nine words, six on average; at least one is no function word."""
        words = self._some(self._random.randint(3, 9))
        return " ".join([*words[:-1], self._content()])

    def _some(self, count: int) -> list[str]:
        return [
            self._random.choice(_function_words()) if self._random.random() < FUNCTION_SHARE else self._content()
            for _ in range(count)
        ]

    def _content(self) -> str:
        weights = _weights()
        return self._words[bisect(weights, self._random.random() * weights[-1])]


@cache
def _function_words() -> list[str]:
    return FUNCTION_WORDS.split()


@cache
def _words() -> list[str]:
    """The most common whole words the model knows."""
    from vaults.embed.prepared_model import TOKENIZER, find_prepared
    from vaults.settings import EmbeddingSettings

    prepared = find_prepared(EmbeddingSettings())
    assert prepared is not None, "run: strongroom model prepare"
    tokenizer = json.loads((prepared.folder / TOKENIZER).read_text(encoding="utf-8"))
    ranked = sorted(tokenizer["model"]["vocab"].items(), key=lambda pair: pair[1])
    skipped = set(_function_words())
    words = [word for word, _ in ranked if word.isascii() and word.isalpha() and len(word) > 2 and word not in skipped]
    return words[:VOCABULARY]


@cache
def _weights() -> list[float]:
    """Cumulative; Zipf and Mandelbrot's law with the textbook's 2.7: few words are much of any text."""
    return list(accumulate((rank + 2.7) ** -1.0 for rank in range(1, len(_words()) + 1)))

"""What a statement says, by its words alone: which they are, the values among them, how often it denies. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[./:_@+'’%-]+[^\W_]+)*|[#$€£]?\d+(?:[.,:]\d+)*%?", re.UNICODE)
"""A word, or a value: ``v1.2``, ``10:30``, ``db-1``, ``don't``."""

DENYING = frozenset({
    "not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot", "don't", "doesn't",
    "didn't", "won't", "wouldn't", "can't", "couldn't", "isn't", "aren't", "wasn't", "weren't", "shouldn't", "mustn't",
    "hasn't", "haven't", "hadn't", "needn't", "dont", "doesnt",
})  # fmt: skip

_PLURAL = re.compile(r"(?<=[a-z]{3})(?<!s)(?<!u)(?<!i)s$")
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ed|ing)$")
_TWICE = re.compile(r"([bdgklmnprt])\1$")


def split_words(text: str) -> list[str]:
    """The words of a text in order, case-folded; values stay whole."""
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


@lru_cache(4096)
def stem(word: str) -> str:
    """A word without its commonest endings: enough to map ``uses`` and ``used`` to ``use``."""
    if not word.isascii() or not word.isalpha():
        return word
    cut = _ENDING.sub("", word)
    if cut != word:
        return _TWICE.sub(r"\1", cut).removesuffix("e")
    return _PLURAL.sub("", word).removesuffix("e")


def is_value(word: str) -> bool:
    """Whether a word holds a figure: a number, a version, a date, a port."""
    return not word.isalpha() and any(character.isdigit() for character in word)


@dataclass(frozen=True, slots=True)
class StatementWords:
    """The words of a text: how often each occurs, which are values, and how often it denies."""

    words: Counter[str]
    values: frozenset[str]
    denials: int


def count_words(text: str) -> StatementWords:
    """The words of a text, counted."""
    found = split_words(text)
    return StatementWords(
        Counter(stem(word) for word in found),
        frozenset(word for word in found if is_value(word)),
        sum(word in DENYING for word in found),
    )


MIN_SHARED_SHARE = 0.85
"""Min share of common words for two texts of which neither adds anything."""


def says_the_same(one: StatementWords, other: StatementWords) -> bool:
    """Whether two texts have nearly the same words and exactly the same values, and deny as often."""
    if one.values != other.values or one.denials != other.denials:
        return False
    together = (one.words | other.words).total()
    return together > 0 and (one.words & other.words).total() / together >= MIN_SHARED_SHARE

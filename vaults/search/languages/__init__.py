"""Common words of the languages people ask in: such a word is meant as typed, not a slip of another. Pure except for
reading the lists once. English is covered best; of German the commonest words and their forms; of others the words that
give away a question in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files

from vaults.search.stopwords import STOPWORDS

_ENGLISH = (
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ed", ""),
    ("ed", "e"),
    ("er", ""),
    ("ly", ""),
)
_GERMAN = tuple(
    (ending, instead)
    for ending in (
        "ungen", "lichen", "innen", "liche", "erin", "lich", "test", "end", "est", "ung", "ten", "tet", "te", "en",
        "er", "es", "em", "et", "st", "e", "n", "s", "t",
    )
    for instead in ("", "e", "en")
)  # fmt: skip

_ROOT = 3
"""Letters of a word that must be left without its ending."""


def is_common(word: str) -> bool:
    """Whether a lower-case word, or the word it is a form of, is a common one of English or German."""
    if word in _words("english") or word in _words("german"):
        return True
    bare = word.removeprefix("ge")
    german = (*_roots(word, _GERMAN), bare, *_roots(bare, _GERMAN))
    return not (_words("english").isdisjoint(_roots(word, _ENGLISH)) and _words("german").isdisjoint(german))


def is_english(word: str) -> bool:
    """Whether a lower-case word, or the word it is a form of, is a common one of English."""
    return word in _words("english") or not _words("english").isdisjoint(_roots(word, _ENGLISH))


def is_foreign(question: Collection[str]) -> bool:
    """Whether a question, as words in lower case, is in a language whose vocabulary is not known here: it holds more
    function words of that language than of English."""
    asked = set(question)
    return max(len(asked & words) for words in _other_languages().values()) > len(asked & STOPWORDS)


def _roots(word: str, endings: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for ending, instead in endings:
        if word.endswith(ending) and len(word) - len(ending) >= _ROOT:
            yield word[: -len(ending)] + instead


@cache
def _words(language: str) -> frozenset[str]:
    return frozenset(" ".join(_read_lines(language)).split())


@cache
def _other_languages() -> dict[str, frozenset[str]]:
    """Language to the words that give it away."""
    found = (line.split(": ") for line in _read_lines("others"))
    return {language: frozenset(words.split()) - _words("english") - _words("german") for language, words in found}


def _read_lines(name: str) -> list[str]:
    text = (files(__name__) / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]

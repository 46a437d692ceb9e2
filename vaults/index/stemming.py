"""Stems of words, from Snowball. No stemmer may be shared between threads; a new one costs a third of a microsecond."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SYLLABLE = re.compile("[aeiouy][^aeiouy]")


def stem_as_indexed(word: str) -> str:
    """The Porter stem of a lower-case word, the one FTS5 computes for the index of words."""
    import Stemmer

    return str(Stemmer.Stemmer("porter", 0).stemWord(_to_fts5_stem(word)))


def _to_fts5_stem(word: str) -> str:
    """Apply two rules that Porter added later: FTS5 has them (analogy → analog, incredibly → incredible), Snowball
    lacks them."""
    for ending, instead in (("logy", "log"), ("logies", "log"), ("bly", "ble")):
        if word.endswith(ending) and _SYLLABLE.search(word[: -len(ending)]):
            return word[: -len(ending)] + instead
    return word


def make_name_stemmer() -> Callable[[Sequence[str]], list[str]]:
    """English stems of lower-case words, to recognise a name in another form. What it returns remembers words: make
    one for many, and keep it in its thread."""
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    return lambda words: list(stemmer.stemWords(list(words)))


def stem_by_language(words: Sequence[str], language: str) -> list[str]:
    """Stems of lower-case words by the rules of a language, as Snowball names it. Dutch by its older rules: the newer
    ones cut beginnings off as well, so that forms of a word no longer begin alike."""
    import Stemmer

    return list(Stemmer.Stemmer("dutch_porter" if language == "dutch" else language, 0).stemWords(list(words)))

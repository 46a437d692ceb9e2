"""Telling a question's language by its words of grammar. Pure except for reading the list once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files

from vaults.search.stopwords import STOPWORDS
from vaults.search.word_forms import fold

ENGLISH = "english"


def weigh_languages(words: Collection[str]) -> dict[str, float]:
    """What lower-case words say about the language they are in: for each language the words of its grammar, one that
    several languages have divided among them. Single letters count for none: most are no words."""
    weights: defaultdict[str, float] = defaultdict(float)
    for word in dict.fromkeys(words):
        holders = _holders().get(word, ()) if len(word) > 1 else ()
        for language in holders:
            weights[language] += 1 / len(holders)
    return dict(weights)


def tell_language(weights: Mapping[str, float], among: Collection[str]) -> str | None:
    """The language, of ``among`` and English, that the words are in; None where nothing or too little tells."""
    ordered = sorted(((weights.get(each, 0.0), each) for each in {*among, ENGLISH}), reverse=True)
    best, language = ordered[0]
    return language if best > (ordered[1][0] if len(ordered) > 1 else 0.0) else None


@cache
def read_grammar(language: str) -> frozenset[str]:
    """Words of a language's grammar, as written, without accents, and with umlauts written out."""
    return frozenset(spelling for word in _lines()[language] for spelling in _spellings(word))


@cache
def _holders() -> Mapping[str, tuple[str, ...]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for word in STOPWORDS:
        found[word].append(ENGLISH)
    for language in _lines():
        for word in read_grammar(language):
            found[word].append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def _spellings(word: str) -> set[str]:
    written_out = word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")
    return {word, fold(word), written_out}


@cache
def _lines() -> Mapping[str, tuple[str, ...]]:
    text = (files(__package__) / "grammar.txt").read_text(encoding="utf-8")
    named = (line.split(": ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {language: tuple(words.split()) for language, words in named}

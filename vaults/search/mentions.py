"""Titles mentioned in a text: how titles are compared, which may stand in a text, and which do. Pure.

A name is a title in its normal form: its words, case-folded, with one space between. A name of several words counts in
any case; a name of one word only where it is capitalised (or linked), because most of those are common words.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from vaults.search.stopwords import STOPWORDS

T = TypeVar("T")

LONGEST = 6
"""Words of a name looked for in running text; a linked name may be longer."""

SHORTEST = 4
"""Characters of a name."""

_WORD = re.compile(r"[^\W_]+")
# A word, or a place no name reaches across: the end of a sentence (not "St. Louis") or of a paragraph, a table's bar.
_TOKEN = re.compile(r"[^\W_]+|(?<=\w{4})[.!?](?=\s)|[。！？|]|\n\s*\n")
_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*\Z")
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|[^\[\]\n]{0,200})?\]\]")
_ARTICLES = frozenset(["the", "a", "an"])


@dataclass(frozen=True, slots=True)
class Mention(Generic[T]):
    """A name found in a text and what it stands for."""

    name: str
    value: T


def normal(title: str) -> str:
    """The form in which titles are compared: words only, case-folded, one space between each two."""
    return " ".join(word.casefold() for word in _WORD.findall(_composed(html.unescape(title))))


def names_of(title: str) -> tuple[str, ...]:
    """What a title may be called by: itself and, for "Mercury (planet)", its bare form. Empty for a wordless one."""
    bare = _QUALIFIER.sub("", title)
    return tuple(dict.fromkeys(name for name in (normal(title), normal(bare)) if name))


def mentioned(text: str, names: Mapping[str, T]) -> list[Mention[T]]:
    """The ``names`` that stand in ``text``, each once, in order of their first place. Where two overlap, the longer
    counts; linked ones come first."""
    links = [name for name in _linked(text) if name in names and _telling(name)]
    grams = [gram for run in _runs(text) for gram in _grams(run)]
    found = [gram for gram in grams if gram.name in names and _telling(gram.name)]
    common = {word for run in _runs(text) for word in run.lower_case} if found else set()
    taken: set[int] = set()
    kept: list[_Gram] = []
    for gram in sorted(found, key=lambda gram: (-gram.words, -len(gram.name), gram.first)):
        places = range(gram.first, gram.first + gram.words)
        if taken.isdisjoint(places) and (gram.words > 1 or gram.name not in common):
            taken.update(places)
            kept.append(gram)
    ordered = (gram.name for gram in sorted(kept, key=lambda gram: gram.first))
    return [Mention(name, names[name]) for name in dict.fromkeys([*links, *ordered])]


def possible(text: str, limit: int = 500) -> list[str]:
    """Up to ``limit`` names that ``text`` could mention, to look up in a table of names: linked ones first, then those
    that begin and end with a capital, then the other runs of one to six words that no stop word begins or ends."""
    capitals: dict[str, None] = dict.fromkeys(name for name in _linked(text) if _telling(name))
    others: dict[str, None] = {}
    for run in _runs(text):
        for gram in _grams(run):
            (capitals if gram.capital else others)[gram.name] = None
    ordered = capitals | others
    return [name for name in ordered if len(name) >= SHORTEST][:limit]


@dataclass(frozen=True, slots=True)
class _Run:
    """Words in a row that one name may reach across. ``first`` is the number of the first one in the text."""

    first: int
    words: list[str]
    capital: list[bool]

    @property
    def lower_case(self) -> Iterator[str]:
        return (word for word, capital in zip(self.words, self.capital, strict=True) if not capital)


@dataclass(frozen=True, slots=True)
class _Gram:
    name: str
    first: int
    words: int
    capital: bool


def _runs(text: str) -> Iterator[_Run]:
    number = 0
    words: list[str] = []
    for token in [*_TOKEN.findall(_composed(text)), "|"]:
        if token[0].isalnum():
            words.append(token)
        elif words:
            yield _Run(number, [word.casefold() for word in words], [_capital(word) for word in words])
            number += len(words)
            words = []


def _grams(run: _Run) -> Iterator[_Gram]:
    words, capital = run.words, run.capital
    ends = [capital[at] or word not in STOPWORDS for at, word in enumerate(words)]
    for at, word in enumerate(words):
        if not (ends[at] or word in _ARTICLES):
            continue
        if capital[at] and word not in STOPWORDS:
            yield _Gram(word, run.first + at, 1, True)
        name = word
        for last in range(at + 1, min(at + LONGEST, len(words))):
            name = f"{name} {words[last]}"
            lone = last == at + 1 and word in _ARTICLES  # "the general" is a name only as "the General"
            if capital[last] or (ends[last] and not lone):
                yield _Gram(name, run.first + at, last - at + 1, capital[at] and capital[last])


def _linked(text: str) -> Iterator[str]:
    if "[[" in text:
        for link in _LINK.findall(text):
            target = normal(link)
            yield from dict.fromkeys(name for name in (target, normal(link.rsplit("/", 1)[-1])) if name)


def _telling(name: str) -> bool:
    return len(name) >= SHORTEST and name not in STOPWORDS


def _capital(word: str) -> bool:
    """Whether a word begins with a capital, or with a letter of a script that has none."""
    first = word[0]
    return first.isupper() or (first.isalpha() and not first.islower())


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)

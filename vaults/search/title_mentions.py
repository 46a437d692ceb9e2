"""Titles mentioned in a text: how titles are compared, which may stand in a text, and which do. Pure.

A name is a title in its normal form: its words, case-folded, with one space between. A name of several words counts in
any case; a name of one word only where it is capitalised (or linked), because most of those are common words.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from vaults.search.stopwords import STOPWORDS

LONGEST = 6
"""Words of a name that is looked for: nobody repeats a longer title in a sentence."""

SHORTEST = 4
"""Characters of a name."""

_WORD = re.compile(r"[^\W_]+")
# A word, or a place no name reaches across: the end of a sentence (not "St. Louis") or of a paragraph, a table's bar.
_TOKEN = re.compile(r"[^\W_]+|(?<=\w{4})[.!?](?=\s)|[。！？|]|\n\s*\n")
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|[^\[\]\n]{0,200})?\]\]")


def normal(title: str) -> str:
    """The form in which titles are compared: words only, case-folded, one space between each two."""
    return " ".join(word.casefold() for word in _WORD.findall(_composed(html.unescape(title))))


@lru_cache(4096)
def names_of(title: str) -> tuple[str, ...]:
    """What a title may be called by: itself and, for "Mercury (planet)", its bare form. Empty for one
    that cannot be told in a text: wordless, too short or too long, a stop word."""
    return tuple(dict.fromkeys(name for name in (normal(title), normal(_bare(title))) if _telling(name)))


def _bare(title: str) -> str:
    """A title without the qualifier in brackets at its end. By hand: an expression tries each blank before it."""
    text = title.rstrip()
    start = text.rfind("(")
    qualified = text.endswith(")") and start >= 0 and ")" not in text[start:-1]
    return text[:start] if qualified else title


@dataclass(frozen=True, slots=True)
class Words:
    """A text as names are looked for in it: ``row`` holds its words in normal form, one space around each, a bar where
    a sentence ends; ``telling`` those that count alone."""

    row: str
    telling: frozenset[str]


def words_of(text: str) -> Words:
    """Read a text once, to look for many names. A word that also stands in lower case is a common one."""
    tokens = _TOKEN.findall(_composed(text))
    row = [token.casefold() if token[0].isalnum() else "|" for token in tokens]
    capital = {low for token, low in zip(tokens, row, strict=True) if _capital(token)}
    common = {low for token, low in zip(tokens, row, strict=True) if not _capital(token)}
    return Words(f" {' '.join(row)} ", frozenset((capital - common).union(_linked(text))))


def mentioned(words: Words, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that stand in a text. Where two overlap, the longer counts."""
    found, row = [], words.row
    for name in sorted(names, key=lambda name: (-name.count(" "), -len(name))):
        if (here := f" {name} ") in row and (" " in name or name in words.telling):
            found.append(name)
            row = row.replace(here, " | ")
    return found


def _linked(text: str) -> Iterator[str]:
    if "[[" in text:
        for link in _LINK.findall(text):
            target = normal(link)
            yield from dict.fromkeys(name for name in (target, normal(link.rsplit("/", 1)[-1])) if name)


def _telling(name: str) -> bool:
    return len(name) >= SHORTEST and name not in STOPWORDS and name.count(" ") < LONGEST


def _capital(word: str) -> bool:
    """Whether a word begins with a capital, or with a letter of a script that has none."""
    first = word[0]
    return first.isupper() or (first.isalpha() and not first.islower())


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)

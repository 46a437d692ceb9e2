"""Titles mentioned in a text: how titles are compared, which can be recognised, and which occur. Pure.

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

MAX_WORDS = 6
"""Words of a name to look for: nobody repeats a longer title in a sentence."""

MIN_LENGTH = 4
"""Characters of a name to look for."""

_WORD = re.compile(r"[^\W_]+")
# A word, or a place no name reaches across: the end of a sentence (not "St. Louis") or of a paragraph, a table's bar.
_TOKEN = re.compile(r"[^\W_]+|(?<=\w{4})[.!?](?=\s)|[。！？|]|\n\s*\n")
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|[^\[\]\n]{0,200})?\]\]")


def normalize_title(title: str) -> str:
    """The form in which titles are compared: words only, case-folded, one space between each two."""
    return " ".join(word.casefold() for word in _WORD.findall(_compose(html.unescape(title))))


@lru_cache(4096)
def derive_names(title: str) -> tuple[str, ...]:
    """The names of a title: itself and, for "Mercury (planet)", its bare form. Empty if it cannot be recognised in a
    text: wordless, too short or too long, a stop word."""
    return tuple(
        dict.fromkeys(
            name for name in (normalize_title(title), normalize_title(_strip_qualifier(title))) if _is_telling(name)
        )
    )


def _strip_qualifier(title: str) -> str:
    """A title without the qualifier in brackets at its end. By hand: a regular expression tries every blank before."""
    text = title.rstrip()
    start = text.rfind("(")
    qualified = text.endswith(")") and start >= 0 and ")" not in text[start:-1]
    return text[:start] if qualified else title


@dataclass(frozen=True, slots=True)
class MentionText:
    """A text prepared for finding names: ``row`` holds its words in normal form, one space around each, a bar where a
    sentence ends; ``telling`` the words that count as a name alone."""

    row: str
    telling: frozenset[str]


def read_mention_text(text: str) -> MentionText:
    """Prepare a text once, to find many names. A word that also stands in lower case is a common one."""
    tokens = _TOKEN.findall(_compose(text))
    row = [token.casefold() if token[0].isalnum() else "|" for token in tokens]
    capital = {low for token, low in zip(tokens, row, strict=True) if _is_capitalized(token)}
    common = {low for token, low in zip(tokens, row, strict=True) if not _is_capitalized(token)}
    return MentionText(f" {' '.join(row)} ", frozenset((capital - common).union(_find_links(text))))


def find_mentioned(words: MentionText, names: Iterable[str]) -> list[str]:
    """The ``names`` that occur in a text. Of two that overlap, the longer counts."""
    found, row = [], words.row
    for name in sorted(names, key=lambda name: (-name.count(" "), -len(name))):
        if (here := f" {name} ") in row and (" " in name or name in words.telling):
            found.append(name)
            row = row.replace(here, " | ")
    return found


def _find_links(text: str) -> Iterator[str]:
    if "[[" in text:
        for link in _LINK.findall(text):
            target = normalize_title(link)
            yield from dict.fromkeys(name for name in (target, normalize_title(link.rsplit("/", 1)[-1])) if name)


def _is_telling(name: str) -> bool:
    return len(name) >= MIN_LENGTH and name not in STOPWORDS and name.count(" ") < MAX_WORDS


def _is_capitalized(word: str) -> bool:
    """Whether a word begins with a capital, or with a letter of a script that has none."""
    first = word[0]
    return first.isupper() or (first.isalpha() and not first.islower())


def _compose(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)

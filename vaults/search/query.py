"""What the caller typed, taken literally: nothing in it is ever search syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vaults.search.stopwords import STOPWORDS

MAX_TERMS = 48
"""Distinct terms searched for; what a pasted page has beyond that adds cost, not hits."""

MAX_QUERY = 10_000
"""Characters of a query that are looked at."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Query:
    """``text`` as given, ``terms`` lower-cased without stop words (all of them if there is nothing else)."""

    text: str
    terms: tuple[str, ...]

    @property
    def match(self) -> str | None:
        """An FTS5 expression of quoted terms joined by OR, or None when there is nothing to look for."""
        return " OR ".join(f'"{term}"' for term in self.terms) or None


def parse(text: str) -> Query:
    """Read a query. Any text is valid; blank or wordless text simply has no terms."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text[:MAX_QUERY])))
    telling = [word for word in words if word not in STOPWORDS]
    return Query(text, tuple((telling or words)[:MAX_TERMS]))

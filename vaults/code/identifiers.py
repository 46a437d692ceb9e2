"""Identifiers in parts: ``getUserName``, ``get_user_name`` and ``GET-USER-NAME`` are "get user name". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

IDENTIFIER = re.compile(r"[^\W\d]\w*")
"""A name in source code."""

_PART = re.compile(r"[A-Z]+(?=[A-Z][^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|[0-9]+")
_HUMP = re.compile(r"[^\W_A-Z][A-Z]|[A-Z]{2}[a-z]")

MAX_IDENTIFIER = 200
"""Characters of one that are looked at: a longer one is data."""


def split_identifier(name: str) -> list[str]:
    """The parts of an identifier, in lower case, in order: ``HTTPServer2`` is ``http``, ``server``, ``2``."""
    return [part.lower() for part in _PART.findall(name[:MAX_IDENTIFIER])]


def find_compounds(text: str) -> Iterator[str]:
    """The identifiers in a text whose parts no reader of words would see, each once: those with humps. An underscore
    or a dash parts words for every index."""
    for name in dict.fromkeys(IDENTIFIER.findall(text)):
        if not name.islower() and not name.isupper() and len(name) <= MAX_IDENTIFIER and _HUMP.search(name):
            yield name


def to_search_words(text: str, most: int) -> list[str]:
    """The parts of the identifiers in a text, each once, in order of appearance, ``most`` at most. Words of the text
    itself are not repeated: it is searched as it stands."""
    words: dict[str, None] = {}
    for name in find_compounds(text):
        words.update(dict.fromkeys(part for part in split_identifier(name) if len(part) > 1))
        if len(words) >= most:
            break
    return list(words)[:most]

"""What pages say: one file of texts per language, taken by templates by their keys.

A text may name values in braces, and come in two forms, ``one`` and ``other``, where it counts something.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "texts"

LANGUAGE = "en"
"""The language pages are in; others are files beside it."""


class Catalogue:
    """The texts of one language. A key that is not there raises ``KeyError``: a test finds each that templates use."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts

    def say(self, key: str, **values: object) -> str:
        """The text of a key, with its values put in. It is plain text: templates escape it."""
        return self.texts[key].format(**values)

    def count(self, key: str, number: int, **values: object) -> str:
        """The form of a text that goes with a number."""
        return self.say(f"{key}.{'one' if number == 1 else 'other'}", number=f"{number:,}", **values)

    def has(self, key: str) -> bool:
        """Whether there is such a text: what comes from a tool, such as a kind, may have a name here."""
        return key in self.texts


@cache
def load_catalogue(language: str = LANGUAGE) -> Catalogue:
    """The texts of a language, read once."""
    parsed = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return Catalogue(language, dict(_flatten(parsed, "")))


def _flatten(section: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

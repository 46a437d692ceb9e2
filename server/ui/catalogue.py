"""What pages say: one file of texts per language, taken by templates by their keys.

A text may name values in braces, and come in two forms, ``one`` and ``other``, where it counts something. How a
language writes numbers and days stands among its texts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from server.ui.languages import LANGUAGES, current_language

_FOLDER = Path(__file__).parent / "texts"


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
        return self.say(f"{key}.{'one' if number == 1 else 'other'}", number=self.digits(number), **values)

    def has(self, key: str) -> bool:
        """Whether there is such a text: what comes from a tool, such as a kind, may have a name here."""
        return key in self.texts

    def digits(self, value: float, places: int = 0) -> str:
        """A number as the language writes it."""
        whole, _, rest = f"{value:,.{places}f}".partition(".")
        grouped = whole.replace(",", self.say("format.thousands"))
        return f"{grouped}{self.say('format.decimal')}{rest}" if rest else grouped

    def moment(self, at: str) -> str:
        """A stored time, or day, as the language writes it, to the minute."""
        year, month, day = at[:4], at[5:7], at[8:10]
        return f"{self.say('format.date', year=year, month=month, day=day)} {at[11:16]}".strip()


def load_catalogue(language: str | None = None) -> Catalogue:
    """The texts of a language; None: of the page that is being made. What one lacks it says in English."""
    return _load(language or current_language())


@cache
def _load(language: str) -> Catalogue:
    return Catalogue(language, read_texts(LANGUAGES[0]) | read_texts(language))


def read_texts(language: str) -> dict[str, str]:
    """The texts in the file of a language, by their keys."""
    return dict(_flatten(tomllib.loads(read_file(language)), ""))


@cache
def read_file(language: str) -> str:
    """The file of a language, read once."""
    return (_FOLDER / f"{language}.toml").read_text(encoding="utf-8")


def _flatten(section: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

"""What pages say: a folder with one file of texts per language, taken by templates by their keys.

A text may name values in braces, and come in two forms, ``one`` and ``other``, where it counts something. How a
language writes numbers and days stands among its texts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from server.languages import LANGUAGES, current_language


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


@dataclass(frozen=True, slots=True)
class TextFolder:
    """The files of texts in a folder, each read once: an upgrade replaces them under a running server."""

    path: Path

    def catalogue(self, language: str | None = None) -> Catalogue:
        """The texts of a language; None: of the page that is being made. What one lacks it says in English."""
        return _load(self.path, language or current_language())

    def read_texts(self, language: str) -> dict[str, str]:
        """The texts in the file of a language, by their keys."""
        return dict(_flatten(tomllib.loads(_read(self.path, language)), ""))

    def read_all(self) -> None:
        """Read the files of all languages."""
        for each in LANGUAGES:
            _read(self.path, each)


@cache
def _load(path: Path, language: str) -> Catalogue:
    folder = TextFolder(path)
    return Catalogue(language, folder.read_texts(LANGUAGES[0]) | folder.read_texts(language))


@cache
def _read(path: Path, language: str) -> str:
    return (path / f"{language}.toml").read_text(encoding="utf-8")


def _flatten(section: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

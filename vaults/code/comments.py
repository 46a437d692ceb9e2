"""What is said of a definition: its docstring, or the comment above it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.code.languages import SourceLanguage

MAX_SUMMARY = 300
"""Characters of a summary that are kept."""

MAX_LEADING = 200
"""Lines above a definition that are looked at."""

_MARKS = re.compile(r"^[/*#!;-]+\s?|\*+/\s*$")
_QUOTES = re.compile(r"^[A-Za-z]{0,3}(\"\"\"|'''|\"|')")
_TAGS = re.compile(r"</?[a-z][^>]{0,80}>")


@dataclass(frozen=True, slots=True)
class LeadingLines:
    """The first of the lines that belong to a definition, counted from 0, and what they say of it."""

    first: int
    summary: str


def read_leading(lines: Sequence[str], row: int, language: SourceLanguage) -> LeadingLines:
    """The comments and attributes right above a definition that begins on ``row``."""
    belongs = (*language.comments, *language.attributes)
    first = min(row, len(lines))
    while first > 0 and row - first < MAX_LEADING and lines[first - 1].lstrip().startswith(belongs):
        first -= 1
    if first == 0 and first < row and lines[0].startswith("#!"):
        first = 1
    return LeadingLines(first, _summarise(lines[first:row], language.attributes) if first < row else "")


def _summarise(lines: Sequence[str], attributes: tuple[str, ...]) -> str:
    for line in lines:
        text = line.strip()
        if attributes and text.startswith(attributes):
            continue
        said = _TAGS.sub("", _MARKS.sub("", _MARKS.sub("", text))).strip(" *-=#/")
        if said and not said.startswith(("@", "eslint", "noqa", "type:")):
            return said[:MAX_SUMMARY]
    return ""


def summarise_docstring(literal: str) -> str:
    """The first line of a docstring, given as it stands in the source."""
    text = _QUOTES.sub("", literal.strip(), count=1)
    first = next((line.strip() for line in text.splitlines() if line.strip(" \"'")), "")
    return first.rstrip("\"'").strip()[:MAX_SUMMARY]

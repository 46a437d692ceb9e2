"""The part of a text that shows why it was found. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

LENGTH = 700
"""Characters of a snippet."""


def snippet(text: str, terms: Sequence[str], length: int = LENGTH) -> str:
    """At most ``length`` characters around the first of ``terms``, cut at words, with … where text was left out."""
    if len(text) <= length:
        return text
    first = _first(text, terms)
    start = max(0, min(first - length // 4, len(text) - length))
    if start:
        start = _next_break(text, start, start + 60)
    end = start + length
    if end < len(text):
        space = text.rfind(" ", start, end)
        end = space if space > start + length * 4 // 5 else end
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _first(text: str, terms: Sequence[str]) -> int:
    if not terms:
        return 0
    # Stemming matched more than the literal word, so the first four letters of a term are looked for.
    pattern = "|".join(re.escape(term[:4]) if len(term) > 4 else re.escape(term) for term in terms)
    match = re.search(rf"\b(?:{pattern})", text, re.IGNORECASE)
    return match.start() if match else 0


def _next_break(text: str, start: int, limit: int) -> int:
    space = text.find(" ", start, limit)
    return space + 1 if space >= 0 else start

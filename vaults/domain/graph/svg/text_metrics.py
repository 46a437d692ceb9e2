"""Estimating the width of text without a font, and cutting it to fit. The estimates are those of a wide typeface, so
that any other leaves room to spare."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

MOST = 100
"""Max characters of a name that are measured: no label holds more."""

_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]/\\ -`"), frozenset("mwMW@%—…")


@lru_cache(4096)
def _measure_character(sign: str) -> float:
    """The width of one character, in ems."""
    if sign in _NARROW:
        return 0.4
    if sign in _WIDE:
        return 1.0
    if sign.isascii():
        return 0.72 if sign.isupper() else 0.63
    if unicodedata.combining(sign):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(sign) in "WF" or ord(sign) > 0xFFFF else 0.75


def measure_width(text: str, size: float) -> float:
    """The width of one line at a font size."""
    return sum(map(_measure_character, text)) * size


def shorten(text: str, ems: float) -> str:
    """Cut a text to a width, with an ellipsis if something is left out."""
    if sum(map(_measure_character, text)) <= ems:
        return text
    wide, kept = _measure_character("…"), 0
    for sign in text:
        wide += _measure_character(sign)
        if wide > ems:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def wrap(text: str, ems: float) -> tuple[str, ...]:
    """A text on one line, or on two of about the same width; cut if it is still too long."""
    text = text[:MOST]
    whole = sum(map(_measure_character, text))
    breaks = [place + 1 for place, sign in enumerate(text[: MOST - 1]) if sign in " /"]
    if whole <= ems or not breaks:
        return (shorten(text, ems),)
    parts = [(text[:place].rstrip(), text[place:]) for place in breaks]
    cut = [(shorten(first, ems), shorten(second, ems)) for first, second in parts]
    lost = [sum(map(len, pair)) - sum(map(len, kept)) for pair, kept in zip(parts, cut, strict=True)]
    return cut[min(range(len(cut)), key=lambda n: (lost[n], max(measure_width(part, 1) for part in cut[n])))]

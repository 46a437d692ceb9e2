"""How wide a text is without asking a font, and how it is cut to fit. Estimates are those of a wide face, so that in
any other one there is room to spare."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

MOST = 100
"""Characters of a name that are looked at: no label holds more."""

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
    """Of one line, at a font size."""
    return sum(map(_measure_character, text)) * size


def shorten(text: str, ems: float) -> str:
    """As much of a text as is this wide at most, with an ellipsis where that is not all of it."""
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
    """A text on one line, or two of about the same width; cut where that is too little."""
    text = text[:MOST]
    whole = sum(map(_measure_character, text))
    breaks = [place + 1 for place, sign in enumerate(text[: MOST - 1]) if sign in " /"]
    if whole <= ems or not breaks:
        return (shorten(text, ems),)
    parts = [(text[:place].rstrip(), text[place:]) for place in breaks]
    cut = [(shorten(first, ems), shorten(second, ems)) for first, second in parts]
    lost = [sum(map(len, pair)) - sum(map(len, kept)) for pair, kept in zip(parts, cut, strict=True)]
    return cut[min(range(len(cut)), key=lambda n: (lost[n], max(measure_width(part, 1) for part in cut[n])))]

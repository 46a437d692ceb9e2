"""Dates as note names and templates spell them: the tokens of moment.js that Obsidian's users write. Pure.

Supported: ``YYYY YY Q M MM MMM MMMM D DD Do d ddd dddd H HH h hh m mm s ss A a w ww W WW gg gggg GG GGGG`` and
``[literal]``. Names are English. Weeks are ISO weeks with every letter, so that a pattern means the same day in every
country. For the same reason ``YYYY`` beside a week, in a pattern without month or day, is the year the week belongs
to: ``YYYY-[W]ww`` of 1 January 2027 is ``2026-W53``, not a week 53 that 2027 does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache

from vaults.errors import InvalidArgument

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

MAX_FORMAT = 200
"""Characters of a pattern: a longer one is no date."""

# What moment.js itself takes for a token, longest first; other letters stand for themselves.
_TOKEN = re.compile(
    r"\[([^\]]*)\]|(Y{4,6}|YY|Mo|M{1,4}|Do|DDDo|D{1,4}|do|d{1,4}|wo|ww?|Wo|WW?|Qo?|g{4,5}|gg|G{4,5}|GG"
    r"|hh?|HH?|kk?|mm?|ss?|S{1,9}|ZZ?|zz?|LTS|LT|L{1,4}|l{1,4}|N{1,5}|y{1,4}|[XxAaEe])|(.)",
    re.DOTALL,
)
_WEEK = {"w", "ww", "W", "WW"}
_WITHIN_YEAR = {"M", "MM", "MMM", "MMMM", "D", "DD", "Do", "Q"}
_WEEK_YEAR = {"YYYY": "GGGG", "YY": "GG"}

_SPELL: dict[str, Callable[[datetime], str]] = {
    "YYYY": lambda at: f"{at.year:04}",
    "YY": lambda at: f"{at.year % 100:02}",
    "Q": lambda at: str((at.month + 2) // 3),
    "M": lambda at: str(at.month),
    "MM": lambda at: f"{at.month:02}",
    "MMM": lambda at: MONTHS[at.month - 1][:3],
    "MMMM": lambda at: MONTHS[at.month - 1],
    "D": lambda at: str(at.day),
    "DD": lambda at: f"{at.day:02}",
    "Do": lambda at: f"{at.day}{_ordinal(at.day)}",
    "d": lambda at: str(at.isoweekday() % 7),
    "ddd": lambda at: DAYS[at.weekday()][:3],
    "dddd": lambda at: DAYS[at.weekday()],
    "H": lambda at: str(at.hour),
    "HH": lambda at: f"{at.hour:02}",
    "h": lambda at: str(at.hour % 12 or 12),
    "hh": lambda at: f"{at.hour % 12 or 12:02}",
    "m": lambda at: str(at.minute),
    "mm": lambda at: f"{at.minute:02}",
    "s": lambda at: str(at.second),
    "ss": lambda at: f"{at.second:02}",
    "A": lambda at: "AM" if at.hour < 12 else "PM",
    "a": lambda at: "am" if at.hour < 12 else "pm",
    "w": lambda at: str(at.isocalendar().week),
    "ww": lambda at: f"{at.isocalendar().week:02}",
    "W": lambda at: str(at.isocalendar().week),
    "WW": lambda at: f"{at.isocalendar().week:02}",
    "gg": lambda at: f"{at.isocalendar().year % 100:02}",
    "GG": lambda at: f"{at.isocalendar().year % 100:02}",
    "gggg": lambda at: f"{at.isocalendar().year:04}",
    "GGGG": lambda at: f"{at.isocalendar().year:04}",
}

_CLOCK = {"H", "HH", "h", "hh", "m", "mm", "s", "ss", "A", "a"}

_ONE_OR_TWO, _TWO = "[0-9]{1,2}", "[0-9]{2}"
_READ: dict[str, str] = {
    **dict.fromkeys(("YYYY", "gggg", "GGGG"), "[0-9]{4}"),
    **dict.fromkeys(("YY", "gg", "GG", "MM", "DD", "HH", "hh", "mm", "ss", "ww", "WW"), _TWO),
    **dict.fromkeys(("M", "D", "H", "h", "m", "s", "w", "W"), _ONE_OR_TWO),
    "Do": "[0-9]{1,2}(?:st|nd|rd|th)",
    "Q": "[1-4]",
    "d": "[0-6]",
    "A": "[AP]M",
    "a": "[ap]m",
    "MMM": "|".join(name[:3] for name in MONTHS),
    "MMMM": "|".join(MONTHS),
    "ddd": "|".join(name[:3] for name in DAYS),
    "dddd": "|".join(DAYS),
}


PatternPiece = tuple[str | None, str]
"""A token, or None and text that stands for itself."""


def format_date(pattern: str, moment: date) -> str:
    """``moment`` as the pattern spells it; a date without a time is midnight. Raises ``InvalidArgument``."""
    at = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    return "".join(text if token is None else _SPELL[token](at) for token, text in _split_pattern(pattern))


def parse_date(pattern: str, text: str) -> date | None:
    """The first day of the day, week, month, quarter or year that ``format_date`` spells as ``text``, or None.

    Everything the pattern says about the date is checked: with a weekday that is not the date's there is no date. A
    pattern without a year names no day. Raises ``InvalidArgument`` for an invalid pattern.
    """
    found = _compile_reader(pattern).fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    try:
        day = _first_day(parts)
    except ValueError:  # 30 February, week 53 of a year that has 52, year 0
        return None
    if day is None:
        return None
    at = datetime(day.year, day.month, day.day)  # noqa: DTZ001
    return day if all(_SPELL[token](at) == spelt for token, spelt in parts.items() if token not in _CLOCK) else None


def to_literal_pattern(text: str) -> str:
    """A pattern that spells ``text`` itself, whatever letters are in it."""
    return "]".join(f"[{part}]" if part else "" for part in text.split("]"))


@lru_cache(maxsize=256)
def _split_pattern(pattern: str) -> tuple[PatternPiece, ...]:
    if not 0 < len(pattern) <= MAX_FORMAT:
        raise InvalidArgument("format", f"must have between 1 and {MAX_FORMAT} characters")
    found = [(match[2], match[1] or match[3] or "") for match in _TOKEN.finditer(pattern)]
    tokens = {token for token, _ in found if token}
    if unknown := tokens - _SPELL.keys():
        raise InvalidArgument(
            "format",
            f"has {', '.join(sorted(unknown))}, which is not supported",
            hint=f"Tokens: {' '.join(_SPELL)}. Put plain words in brackets: [Week] ww.",
        )
    if tokens & _WEEK and not tokens & _WITHIN_YEAR:
        found = [(_WEEK_YEAR.get(token, token) if token else None, text) for token, text in found]
    return tuple(found)


@lru_cache(maxsize=256)
def _compile_reader(pattern: str) -> re.Pattern[str]:
    """A regular expression with a group per token. A repeated token refers to its group, which bounds backtracking."""
    parts, seen = [], set()
    for token, text in _split_pattern(pattern):
        if token is None:
            parts.append(re.escape(text))
        elif token in seen:
            parts.append(f"(?P={token})")
        else:
            seen.add(token)
            parts.append(f"(?P<{token}>{_READ[token]})")
    return re.compile("".join(parts))


def _first_day(parts: dict[str, str]) -> date | None:
    """The first day that the groups of ``_compile_reader`` name. Raises ``ValueError`` for one no calendar has."""
    year, month, day = _year(parts, "YYYY", "YY"), _month(parts), _number(parts, "DD", "D", "Do")
    if year and month and day:
        return date(year, month, day)
    week = _number(parts, "WW", "W", "ww", "w")
    if week and (week_year := _year(parts, "GGGG", "gggg", "GG", "gg") or year):
        return date.fromisocalendar(week_year, week, 1)
    quarter = _number(parts, "Q")
    return date(year, month or (quarter * 3 - 2 if quarter else 1), 1) if year else None


def _number(parts: dict[str, str], *tokens: str) -> int | None:
    spelt = next((parts[token] for token in tokens if token in parts), None)
    return int(spelt.rstrip("stndrh")) if spelt else None


def _year(parts: dict[str, str], *tokens: str) -> int | None:
    year = _number(parts, *tokens)
    return year + 2000 if year is not None and not any(len(token) == 4 and token in parts for token in tokens) else year


def _month(parts: dict[str, str]) -> int | None:
    for token, length in (("MMMM", None), ("MMM", 3)):
        if token in parts:
            return [name[:length] for name in MONTHS].index(parts[token]) + 1
    return _number(parts, "MM", "M")


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")

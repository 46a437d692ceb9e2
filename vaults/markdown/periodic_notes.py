"""Daily, weekly, monthly, quarterly and yearly notes: where a vault keeps them, and the words that mean them. Pure.

Obsidian's own settings decide; without them the vault's habit, that is the folder and the spelling that most of its
notes share, of equals the one with the latest note; else the defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

from vaults.errors import InvalidArgument
from vaults.markdown.date_formats import DAYS, MONTHS, format_date, parse_date, to_literal_pattern

PeriodKind = Literal["daily", "weekly", "monthly", "quarterly", "yearly", "memory"]


@dataclass(frozen=True, slots=True)
class PeriodicPattern:
    """``format`` spells the whole path without ``.md``, folders included, in the tokens of ``date_formats``."""

    format: str
    template: str | None = None
    """Path of a template note, as Obsidian's settings name it."""
    notes: int = 0
    """How many notes of the vault follow it; 0 for a default or a setting."""


MAX_SETTINGS = 65_536
"""Characters of Obsidian's settings that are read."""

DEFAULTS: Mapping[PeriodKind, PeriodicPattern] = {
    "daily": PeriodicPattern("[memory]/YYYY-MM-DD"),
    "weekly": PeriodicPattern("[memory]/YYYY-[W]ww"),
    "monthly": PeriodicPattern("[memory]/YYYY-MM"),
    "quarterly": PeriodicPattern("[memory]/YYYY-[Q]Q"),
    "yearly": PeriodicPattern("[memory]/YYYY"),
    "memory": PeriodicPattern("[MEMORY]"),
}

_SEPARATED = ("YYYY-MM-DD", "YYYY_MM_DD", "YYYY.MM.DD", "DD.MM.YYYY", "DD-MM-YYYY", "MM-DD-YYYY")
_NAMES: Mapping[PeriodKind, tuple[str, ...]] = {
    "daily": (
        *_SEPARATED, "YYYYMMDD", "YYYY-MM-DD dddd", "YYYY-MM-DD-dddd", "YYYY-MM-DD ddd", "YYYY-MM-DD-ddd",
        "YYYY/MM/DD", "YYYY-MM/DD", "MMMM D, YYYY", "D MMMM YYYY", "MMMM Do, YYYY",
    ),
    "weekly": ("YYYY-[W]ww", "YYYY-[w]ww", "YYYY[W]ww", "YYYY [W]ww", "YYYY/[W]ww", "YYYY-[Week]-ww", "YYYY [Week] ww"),
    "monthly": ("YYYY-MM", "YYYY_MM", "YYYY.MM", "YYYY/MM", "YYYY-MM MMMM", "YYYY-MM-MMMM", "MMMM YYYY", "YYYY MMMM"),
    "quarterly": ("YYYY-[Q]Q", "YYYY [Q]Q", "YYYY[Q]Q", "YYYY/[Q]Q", "[Q]Q YYYY"),
    "yearly": ("YYYY",),
}  # fmt: skip
"""Spellings of names, with folders where the name alone says too little. Earlier ones win between equals."""

_FOLDERS = (
    "YYYY", "YYYY-MM", "MM", "MM-MMMM", "MM MMMM", "MM-MMM", "MM MMM", "MMMM", "MMM", "M", "DD",
    "YYYY-[Q]Q", "[Q]Q", "YYYY-[W]ww", "[W]ww",
)  # fmt: skip
_DATED = re.compile(rf"[0-9]|(?:{'|'.join(name[:3] for name in MONTHS)})")
_NAMED = re.compile("|".join([*MONTHS, *DAYS, *(f"{name[:3]}(?![a-z])" for name in (*MONTHS, *DAYS))]))
_DIGITS = str.maketrans("123456789", "000000000")
_ALIASES: Mapping[str, tuple[PeriodKind, int]] = {
    "daily": ("daily", 0),
    "today": ("daily", 0),
    "yesterday": ("daily", -1),
    "tomorrow": ("daily", 1),
    "weekly": ("weekly", 0),
    "monthly": ("monthly", 0),
    "quarterly": ("quarterly", 0),
    "yearly": ("yearly", 0),
    "memory": ("memory", 0),
}
_ALIAS = re.compile(r"@([a-z]{1,16})(?::(.{0,40}))?", re.IGNORECASE | re.DOTALL)
_MEANT: Mapping[PeriodKind, tuple[str, ...]] = {
    "daily": ("YYYY-MM-DD",),
    "weekly": ("YYYY-MM-DD", "YYYY-[W]ww"),
    "monthly": ("YYYY-MM-DD", "YYYY-MM"),
    "quarterly": ("YYYY-MM-DD", "YYYY-[Q]Q", "YYYY-MM"),
    "yearly": ("YYYY-MM-DD", "YYYY"),
}


def infer_patterns(paths: Iterable[str], obsidian: str | None = None) -> dict[PeriodKind, PeriodicPattern]:
    """A pattern for every kind, in time linear in the number of paths.

    ``obsidian`` is the text of ``.obsidian/daily-notes.json``; invalid settings are ignored.
    """
    votes: dict[tuple[PeriodKind, str], list[date]] = {}
    found: dict[PeriodKind, PeriodicPattern] = dict(DEFAULTS)
    for path in paths:
        stem = path.rpartition(".")[0]
        if path.casefold() == "memory.md":
            found["memory"] = PeriodicPattern(to_literal_pattern(stem), notes=1)
        for kind, spelling, day in _spellings(stem):
            votes.setdefault((kind, spelling), []).append(day)
    # Sorted from worst to best, so the best of each kind is written last.
    for (kind, spelling), days in sorted(votes.items(), key=lambda vote: (len(vote[1]), max(vote[1]), _rank(vote[0]))):
        found[kind] = PeriodicPattern(spelling, notes=len(days))
    return {**found, **_daily_from_settings(obsidian)}


def periodic_path(kind: PeriodKind, day: date, pattern: PeriodicPattern | None = None) -> str:
    """The vault path of the note of ``kind`` that ``day`` falls into. Raises ``InvalidArgument``.

    The path is not checked to stay in the vault: a pattern from settings may hold anything.
    """
    return format_date((pattern or DEFAULTS[kind]).format, day) + ".md"


def parse_alias(text: str, today: date) -> tuple[PeriodKind, date] | None:
    """What ``@daily``, ``@weekly:2026-W47``, ``@yesterday``, ``@memory`` … mean; None if ``text`` is no such word.

    The date may be any day of the period, or the period itself. Raises ``InvalidArgument`` for an unreadable one.
    """
    match = _ALIAS.fullmatch(text.strip())
    meant = _ALIASES.get(match[1].lower()) if match else None
    if match is None or meant is None:
        return None
    kind, shift = meant
    if match[2] is None:
        return kind, today + timedelta(days=shift)
    if match[1].lower() == kind:
        for spelling in _MEANT.get(kind, ()):
            if day := parse_date(spelling, match[2].strip()):
                return kind, day
    forms = " or ".join(f"@{kind}:{format_date(spelling, today)}" for spelling in _MEANT.get(kind, ()))
    raise InvalidArgument("path", f"must be {forms or f'@{kind} alone'}")


def _spellings(stem: str) -> Iterator[tuple[PeriodKind, str, date]]:
    """Every way to read a path without its suffix as a periodic note: kind, pattern of the whole path, first day."""
    parts = stem.split("/")
    for depth in range(1, min(len(parts), 3) + 1):
        name = "/".join(parts[-depth:])
        for kind, spelling in _shapes().get(_shape(name), ()):
            if day := parse_date(spelling, name):
                yield kind, "/".join([*(_folder(part, day) for part in parts[:-depth]), spelling]), day


def _folder(name: str, day: date) -> str:
    if _DATED.search(name):
        for spelling in _FOLDERS:
            if format_date(spelling, day) == name:
                return spelling
    return to_literal_pattern(name)


def _shape(name: str) -> str:
    return _NAMED.sub("a", name).translate(_DIGITS)


@lru_cache(maxsize=1)
def _shapes() -> dict[str, list[tuple[PeriodKind, str]]]:
    """Spellings by the shape of the names they make: most names of a vault fit none and need no further check."""
    month = [date(2026, 1, day) for day in range(1, 32)]
    found: dict[str, list[tuple[PeriodKind, str]]] = {}
    for kind, spellings in _NAMES.items():
        for spelling in spellings:
            for shape in {_shape(format_date(spelling, day)) for day in month}:
                found.setdefault(shape, []).append((kind, spelling))
    return found


def _rank(vote: tuple[PeriodKind, str]) -> int:
    kind, spelling = vote
    names = _NAMES[kind]
    return -next(place for place, name in enumerate(names) if spelling.endswith(name))


def _daily_from_settings(obsidian: str | None) -> dict[PeriodKind, PeriodicPattern]:
    """The daily pattern of Obsidian's settings, with Obsidian's defaults for what they leave out."""
    if not obsidian or len(obsidian) > MAX_SETTINGS:
        return {}
    try:
        settings = json.loads(obsidian)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(settings, dict):
        return {}
    folder, spelling, template = (settings.get(name) or "" for name in ("folder", "format", "template"))
    if not all(isinstance(value, str) for value in (folder, spelling, template)):
        return {}
    parts = [to_literal_pattern(part) for part in folder.strip("/").split("/") if part]
    pattern = PeriodicPattern("/".join([*parts, spelling.strip("/") or "YYYY-MM-DD"]), template or None)
    try:
        periodic_path("daily", date.min, pattern)
    except InvalidArgument:  # an unsupported token: better the vault's habit than a wrong name
        return {}
    return {"daily": pattern}

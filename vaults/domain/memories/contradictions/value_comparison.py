"""Compares values: 60 s is a minute, 3 pm is 15:00, 20.11 is a more exact 20. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.domain.memories.contradictions.statement_words import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


_NUMBERS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    )
    for number, word in enumerate(words.split())
}
_NUMBERS |= {"twenty": "20", "thirty": "30", "sixty": "60", "zwanzig": "20", "dreissig": "30"}

_MONTHS = {
    word: number
    for words in (
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "januar februar märz april mai juni juli august september oktober november dezember",
    )
    for number, word in enumerate(words.split(), 1)
}

_UNITS: dict[str, tuple[str, float]] = {}
for _kind, _size, _names in (
    ("time", 0.001, "ms msec millisecond milliseconds millisekunde millisekunden"),
    ("time", 1, "s sec secs second seconds sekunde sekunden"),
    ("time", 60, "min mins minute minutes minuten"),
    ("time", 3600, "h hr hrs hour hours stunde stunden"),
    ("time", 86_400, "d day days tag tage tagen"),
    ("time", 604_800, "w week weeks woche wochen"),
    ("time", 2_592_000, "month months monat monate monaten"),
    ("time", 31_536_000, "year years jahr jahre jahren"),
    ("bytes", 1, "b byte bytes"),
    ("bytes", 1024, "kb kib kilobyte kilobytes"),
    ("bytes", 1024**2, "mb mib megabyte megabytes"),
    ("bytes", 1024**3, "gb gib gigabyte gigabytes"),
    ("bytes", 1024**4, "tb tib terabyte terabytes"),
    ("share", 1, "% percent prozent"),
):
    _UNITS |= dict.fromkeys(_names.split(), (_kind, _size))

NEAR = {"bytes": 0.11, "time": 0.015}
"""How far two amounts in different units may differ and still be equal: 1000 is 1024 to some, a month is 30 days."""

IDLE = _words(
    "the a an our we it its to in on at by of is are be about around approximately exactly now currently already still "
    "just only der die das den dem ein eine wir im am auf um bei ist sind jetzt nun derzeit aktuell etwa rund genau "
    "uhr o'clock as als"
)
"""Words around a value that are not part of it."""

YES = _words("yes true on enabled enable active activated ja wahr an ein aktiv aktiviert eingeschaltet erlaubt allowed")
NO = _words(
    "no false off disabled disable inactive deactivated nein falsch aus inaktiv deaktiviert ausgeschaltet verboten "
    "forbidden"
)


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number with its unit; ``kind`` is empty without one."""

    kind: str
    number: float
    unit: float

    def is_like(self, other: _Amount) -> bool:
        if self.kind != other.kind or self.unit == other.unit:
            return (self.kind == other.kind or "" in (self.kind, other.kind)) and self.number == other.number
        one, two = self.number * self.unit, other.number * other.unit
        return abs(one - two) <= NEAR.get(self.kind, 0) * max(one, two)


_Item = str | _Amount

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([a-zäöü%]{1,12})?")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?(am|pm)?")


def parse_value(tokens: Sequence[str]) -> tuple[_Item, ...]:
    """The items of a value: dates, times of day, amounts, and stems of the other words."""
    items: list[_Item] = []
    at = 0
    while at < len(tokens):
        item, width = _parse_item(tokens, at)
        if item is not None:
            items.append(item)
        at += width
    return tuple(items)


def _parse_item(tokens: Sequence[str], at: int) -> tuple[_Item | None, int]:
    """The item that begins at a token, and how many tokens it takes."""
    if found := _parse_date(tokens, at) or _parse_time(tokens, at) or _parse_amount(tokens, at):
        return found
    token = tokens[at]
    if token in IDLE and len(tokens) > 1:  # alone it is the value: "on"
        return None, 1
    if token in YES or token in NO:
        return ("yes" if token in YES else "no"), 1
    return re.sub(r"^v(?=\d)", "", stem(token)), 1


def _next_token(tokens: Sequence[str], at: int) -> str:
    return tokens[at + 1] if at + 1 < len(tokens) else ""


def _parse_time(tokens: Sequence[str], at: int) -> tuple[_Item, int] | None:
    """A time of day: 3 pm, 15:00, 15 Uhr."""
    match = _TIME.fullmatch(tokens[at])
    if match is None:
        return None
    hour, minute, half, after = int(match[1]), int(match[2] or 0), match[3], _next_token(tokens, at)
    if half is None and after in ("am", "pm", "uhr"):
        half, width = after, 2
    else:
        width = 1
    if half is None and match[2] is None:
        return None
    return f"{hour % 12 + 12 * (half == 'pm') if half in ('am', 'pm') else hour}:{minute:02}", width


def _parse_amount(tokens: Sequence[str], at: int) -> tuple[_Item, int] | None:
    match = _AMOUNT.fullmatch(_normalize_number(tokens[at]))
    if match is None:
        return None
    unit = match[2] or _next_token(tokens, at)
    if unit in _UNITS:
        kind, amount = _UNITS[unit]
        return _Amount(kind, float(match[1]), amount), 1 if match[2] else 2
    return None if match[2] else (_Amount("", float(match[1]), 1.0), 1)


def _normalize_number(token: str) -> str:
    """A number in one spelling: no thousands separators, a decimal point."""
    token = _NUMBERS.get(token, token)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?:\.\d{3}){2,}", token):
        return re.sub(r"[,.]", "", token)
    return re.sub(r"^(\d+),(\d+)", r"\1.\2", token)


def _parse_date(tokens: Sequence[str], at: int) -> tuple[_Item, int] | None:
    token = tokens[at]
    if match := _ISO.fullmatch(token):
        return f"{int(match[1])}/{int(match[2])}/{int(match[3])}", 1
    if match := _DOTTED.fullmatch(token):
        return f"{int(match[3])}/{int(match[2])}/{int(match[1])}", 1
    some = tokens[at : at + 3]
    day = next((int(part) for part in some[:2] if re.fullmatch(r"\d{1,2}", part)), None)
    month = next((_MONTHS[part] for part in some[:2] if part in _MONTHS), None)
    if len(some) < 2 or day is None or month is None:
        return None
    year = some[2] if len(some) > 2 and re.fullmatch(r"\d{4}", some[2]) else ""
    return f"{year}/{month}/{day}", 2 + bool(year)


def are_compatible(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two values can both hold: they are equal, or one is only more exact."""
    ours, theirs = parse_value(one), parse_value(other)
    small, large = sorted((ours, theirs), key=len)
    return all(any(_are_alike(item, each) for each in large) for item in small)


def _are_alike(one: _Item, other: _Item) -> bool:
    if isinstance(one, _Amount) and isinstance(other, _Amount) and (one.kind or other.kind):
        return one.is_like(other)
    ours, theirs = (f"{each.number:g}" if isinstance(each, _Amount) else each for each in (one, other))
    if ours == theirs:
        return True
    if ours.count("/") == theirs.count("/") == 2 and (ours[0] == "/" or theirs[0] == "/"):
        return ours.partition("/")[2] == theirs.partition("/")[2]  # a date without its year
    return _is_part(ours, theirs) or _is_part(theirs, ours)


def _is_part(short: str, long: str) -> bool:
    """Whether a version begins with another: 20.11.1 with 20."""
    return short[:1].isdigit() and long.startswith(f"{short}.")

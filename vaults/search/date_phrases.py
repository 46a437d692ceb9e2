"""The span of time a question names: English is read here, other languages by their own tables. Pure. Days are UTC
days; weeks begin on Monday.

What could be something else is not taken for a date: "may" and "march" need a year, a day, or "in", "since" … before
them; a year or a weekday needs such a word, too. Own code, because libraries for this find one day where a range is
meant and dates where there are none ("what may happen", "we", "8080", "die"): of 250 questions without a date in five
languages dateparser 1.5 finds one in 50, and of 131 dates it names a day within the span of 87."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal, TypeAlias

from vaults.index import unspaced_scripts
from vaults.search.fts_expression import split_words
from vaults.search.languages import grammar
from vaults.search.time_spans import TimeSpan, calendar_span, open_end, span_of, units_back

MAX_TEXT = 2_000
"""Characters that are read; anything longer is a pasted text, not a question."""

_WITH_TABLES = ("german", "french", "spanish")
_ALSO_ENGLISH = re.compile(r"\bmars\b", re.IGNORECASE)
"""A planet, where nothing tells that the question is in French."""


def find_time_span(text: str, now: datetime) -> tuple[TimeSpan, str] | None:
    """The span of time named first in ``text``, and the text without those words; None when it names none.

    "last week" is the calendar week before this one, "last 7 days" and "past week" reach back from today, today
    included. A month, day or quarter without a year is the latest that has begun. ``now`` has to be aware. Read are
    English, German, French, Spanish, Japanese and Chinese."""
    looked, moment = text[:MAX_TEXT], now.astimezone(UTC)
    if (foreign := _find_foreign(looked, moment)) is not None:
        span, start, end = foreign
        return span, _cut_out(text, start, end)
    return _find_english(text, looked, moment)


def _find_foreign(looked: str, now: datetime) -> tuple[TimeSpan, int, int] | None:
    """A span named in another language: that of a question's words of grammar, or where these tell none, any that is
    beyond doubt."""
    if unspaced_scripts.RUN.search(looked):
        from vaults.search.unspaced_dates import find_unspaced_span

        if (unspaced := find_unspaced_span(looked, now)) is not None:
            return unspaced
    weights = grammar.weigh_languages(split_words(looked))
    told = grammar.tell_language(weights, _WITH_TABLES)
    if told == grammar.ENGLISH:
        return None
    from vaults.search.foreign_dates import SURE, find_foreign_span

    if told is not None:
        return find_foreign_span(looked, told, now)
    tried = () if _ALSO_ENGLISH.search(looked) else _WITH_TABLES
    found = filter(None, (find_foreign_span(looked, language, now, SURE) for language in tried))
    return max(found, key=lambda each: each[2] - each[1], default=None)


def _find_english(text: str, looked: str, now: datetime) -> tuple[TimeSpan, str] | None:
    found = list(_named_dates(looked, now))
    for index, first in enumerate(found):
        before = _BEFORE.search(looked, max(0, first.start - 24), first.start)
        word = (before["word"] or "").lower() if before else ""
        start = before.start() if before else first.start
        second = found[index + 1] if index + 1 < len(found) else None
        if word in ("between", "from") and second and _TO.fullmatch(looked, first.end, second.start):
            low, high = sorted((first.span, second.span), key=lambda span: span.since)
            return TimeSpan(low.since, max(low.until, high.until)), _cut_out(text, start, second.end)
        if word in _WITH[first.kind]:
            return open_end(word, first.span), _cut_out(text, start, first.end)
    return None


DateKind: TypeAlias = Literal["sure", "day", "period"]


@dataclass(frozen=True, slots=True)
class _NamedDate:
    """A date named at ``start`` … ``end`` of the text."""

    start: int
    end: int
    span: TimeSpan
    kind: DateKind


_MONTHS = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = ("a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

_ANY = frozenset(("in", "on", "at", "from", "during", "within", "over", "since", "after", "before", "until", "till"))
_WITH: dict[DateKind, frozenset[str]] = {
    "sure": _ANY | {"", "between"},
    "day": frozenset(("on", "from", "since", "after", "before", "until", "till")),
    "period": frozenset(("in", "from", "during", "since", "after", "before", "until", "till")),
}
"""Words of which one must stand before a date of this kind."""

_BEFORE = re.compile(rf"(?:\b(?P<word>{'|'.join(sorted(_ANY | {'between'}))})\s+)?(?:\bthe\s+)?$", re.IGNORECASE)
_TO = re.compile(r"\s+(?:and|to|until|till|through)\s+(?:the\s+)?", re.IGNORECASE)

_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)}|sept)\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_COUNT = rf"(?P<count>\d{{1,3}}|an|{'|'.join(_NUMBERS)})"
_THINGS = "bytes|characters|chars|errors|files|items|lines|requests|rows|steps|times|tokens|users|words|ms|kb|mb|gb"


def _named_dates(text: str, now: datetime) -> Iterator[_NamedDate]:
    """Dates in order; of overlapping ones the first to begin, then the longest."""
    every = [
        _NamedDate(match.start(), match.end(), span, kind)
        for pattern, meaning, kind in _RULES
        for match in pattern.finditer(text)
        if (span := _read_span(meaning, match, now)) is not None
    ]
    end = 0
    for named in sorted(every, key=lambda named: (named.start, -named.end)):
        if named.start >= end:
            end = named.end
            yield named


def _read_span(meaning: DateReader, match: re.Match[str], now: datetime) -> TimeSpan | None:
    try:
        return meaning(match, now)
    except (ValueError, OverflowError):  # 30 February, 13th month, 999 years before the year 500
        return None


def _cut_out(text: str, start: int, end: int) -> str:
    left = re.sub(r"\s+", " ", f"{text[:start]} {text[end:]}")
    return re.sub(r" (?=[?.,;:!)])", "", left).lstrip(" ,;:").rstrip(" ,;:")


def _today(match: re.Match[str], now: datetime) -> TimeSpan:
    words = match["word"].lower()
    ago = 0 if words == "today" else 1 if words == "yesterday" else 2
    return calendar_span("day", now.date() - timedelta(days=ago))


def _this_or_last(match: re.Match[str], now: datetime) -> TimeSpan:
    which, unit = match["which"].lower(), match["unit"].lower()
    if which == "past":
        return span_of(units_back(unit, now.date(), 1), now.date() + timedelta(days=1))
    return calendar_span(unit, now.date() if which == "this" else units_back(unit, now.date(), 1))


def _number(match: re.Match[str]) -> int:
    word = match["count"].lower()
    return int(word) if word.isdigit() else 1 if word == "an" else _NUMBERS.index(word) + 1


def _last_few(match: re.Match[str], now: datetime) -> TimeSpan:
    unit, until = match["unit"].lower(), calendar_span("day", now.date()).until
    if unit == "hour":
        return TimeSpan(now - timedelta(hours=_number(match)), until)
    return span_of(units_back(unit, now.date(), _number(match)), until.date())


def _ago(match: re.Match[str], now: datetime) -> TimeSpan:
    unit = match["unit"].lower()
    return calendar_span(unit, units_back(unit, now.date(), _number(match)))


def _day_or_month(match: re.Match[str], now: datetime) -> TimeSpan:
    """A day or month; without a year the latest that has begun."""
    named = match.groupdict()
    month = int(match["month"]) if match["month"].isdigit() else _month(match["month"])
    day = int(named.get("day") or 1)
    found = date(int(named.get("year") or now.year), month, day)
    if not named.get("year") and (found > now.date() or (_is_last(named) and found.month == now.month)):
        found = date(now.year - 1, month, day)
    return calendar_span("day" if named.get("day") else "month", found)


def _month(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _is_last(named: dict[str, str | None]) -> bool:
    return (named.get("which") or "").lower() in ("last", "past", "previous")


def _quarter(match: re.Match[str], now: datetime) -> TimeSpan:
    month, year = int(match["quarter"]) * 3 - 2, match.groupdict().get("year")
    found = date(int(year or now.year), month, 1)
    return calendar_span("quarter", found if year or found <= now.date() else date(now.year - 1, month, 1))


def _weekday(match: re.Match[str], now: datetime) -> TimeSpan:
    today, number = now.date(), _DAYS.index(match["weekday"].lower())
    if (match.groupdict().get("which") or "").lower() == "this":
        return calendar_span("day", today + timedelta(days=number - today.weekday()))
    ago = (today.weekday() - number) % 7
    return calendar_span("day", today - timedelta(days=ago or (7 if _is_last(match.groupdict()) else 0)))


def _year(match: re.Match[str], _now: datetime) -> TimeSpan:
    return calendar_span("year", date(int(match["year"]), 1, 1))


DateReader: TypeAlias = Callable[[re.Match[str], datetime], TimeSpan]


def _rule(pattern: str, meaning: DateReader, kind: DateKind = "sure") -> tuple[re.Pattern[str], DateReader, DateKind]:
    """Matches whole words only, no part of a path, a version or a longer number; an 's belongs to the date."""
    whole = rf"(?<![\w/.\-])(?:{pattern})(?:['’]s)?(?![\w/\-]|\.\w)"
    return re.compile(whole, re.IGNORECASE), meaning, kind


_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAYS)})"
_WHICH = r"(?P<which>last|past|previous|this)"
_RULES = (
    _rule(r"(?P<word>today|yesterday|day\s+before\s+yesterday)", _today),
    _rule(rf"{_WHICH}\s+(?P<unit>week|month|quarter|year)", _this_or_last),
    _rule(rf"(?:last|past|previous)\s+{_COUNT}\s+(?P<unit>hour|day|week|month|quarter|year)s?", _last_few),
    _rule(rf"{_COUNT}\s+(?P<unit>day|week|month|quarter|year)s?\s+ago", _ago),
    _rule(rf"{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}", _day_or_month),
    _rule(rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}", _day_or_month),
    _rule(r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?", _day_or_month),
    _rule(rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}", _day_or_month),
    _rule(rf"Q(?P<quarter>[1-4])[\s,]*{_YEAR}", _quarter),
    _rule(rf"{_YEAR}[\s,]*Q(?P<quarter>[1-4])", _quarter),
    _rule(rf"{_WHICH}\s+{_WEEKDAY}", _weekday),
    _rule(rf"{_WHICH}\s+(?P<month>{'|'.join(_MONTHS)})", _day_or_month),
    _rule(_WEEKDAY, _weekday, "day"),
    _rule(rf"{_DAY}\s+(?:of\s+)?{_MONTH}", _day_or_month, "day"),
    _rule(rf"{_MONTH}\s+{_DAY}", _day_or_month, "day"),
    _rule(rf"(?P<month>{'|'.join(_MONTHS)})", _day_or_month, "period"),
    _rule(r"Q(?P<quarter>[1-4])", _quarter, "period"),
    _rule(rf"{_YEAR}(?!\s*(?:{_THINGS})\b)", _year, "period"),
)

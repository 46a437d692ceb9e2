"""The span of time a German, French or Spanish question names, read with the tables of ``date_words``. Pure.

As in English, what could be something else is not taken for a date: a month, a day or a year alone needs a word like
"im" or "depuis" before it, and "il y a trois jours de congé" speaks of leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import TypeAlias

from vaults.search.date_words import DATE_WORDS, DateWords
from vaults.search.time_spans import TimeSpan, calendar_span, open_end, span_of, units_back

_OPENING = frozenset(("between", "from", "since"))

Named: TypeAlias = Mapping[str, str]
"""What a rule's parts matched, in lower case."""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    span: TimeSpan
    kind: str


@dataclass(frozen=True, slots=True)
class _Rules:
    """A language's tables, compiled."""

    words: DateWords
    rules: tuple[tuple[re.Pattern[str], str, str], ...]
    before: re.Pattern[str]
    relations: tuple[tuple[re.Pattern[str], str], ...]
    between: re.Pattern[str]

    def relation(self, text: str) -> str:
        return next((meaning for pattern, meaning in self.relations if pattern.fullmatch(text)), "")


ANY_KIND = frozenset(("sure", "dated", "day", "period"))
SURE = frozenset(("sure",))
"""What is a date whatever stands before it."""


def find_foreign_span(
    text: str, language: str, now: datetime, kinds: Collection[str] = ANY_KIND
) -> tuple[TimeSpan, int, int] | None:
    """The span of time named first by dates of these kinds, and where the words that name it begin and end; None when
    it names none."""
    rules = _compile(language)
    found = [each for each in _named_dates(text, rules, now) if each.kind in kinds]
    for index, first in enumerate(found):
        before = rules.before.search(text, max(0, first.start - 40), first.start)
        word = rules.relation(re.sub(r"\s+", " ", before["word"]).lower()) if before and before["word"] else ""
        start = before.start() if before else first.start
        second = found[index + 1] if index + 1 < len(found) else None
        if word in _OPENING and second and rules.between.fullmatch(text, first.end, second.start):
            if word == "from" and first.kind == second.kind == "day":
                return None  # from Monday to Friday: every week
            return _both(first, second), start, second.end
        if _is_sure(first.kind, word, rules.words):
            return open_end(word, first.span), start, first.end
    return None


def _is_sure(kind: str, word: str, words: DateWords) -> bool:
    """Whether a date of this kind is one after this word. "dated": a day and a month, which any such word may
    precede."""
    if kind == "sure":
        return True
    if kind == "period":
        return word not in ("", "from", "between")
    return word in words.day_after or (kind == "dated" and word != "")


def _both(first: _Found, second: _Found) -> TimeSpan:
    """From the first date to the second; where only the second has a year, it is that of both."""
    low, high = first.span, second.span
    if low.since > high.since:
        low = TimeSpan(_year_before(low.since, high.since), _year_before(low.until, high.until))
    return TimeSpan(min(low.since, high.since), max(low.until, high.until))


def _year_before(moment: datetime, limit: datetime) -> datetime:
    return moment.replace(year=limit.year, day=min(moment.day, 28) if moment.month == 2 else moment.day)


def _named_dates(text: str, rules: _Rules, now: datetime) -> Iterator[_Found]:
    """Dates in order; of overlapping ones the first to begin, then the longest."""
    every = [
        _Found(match.start(), match.end(), span, kind)
        for pattern, reader, kind in rules.rules
        for match in pattern.finditer(text)
        if (span := _read(reader, match, rules.words, now)) is not None
    ]
    end = 0
    for found in sorted(every, key=lambda found: (found.start, -found.end)):
        if found.start >= end:
            end = found.end
            yield found


def _read(reader: str, match: re.Match[str], words: DateWords, now: datetime) -> TimeSpan | None:
    named = {name: value.lower() for name, value in match.groupdict().items() if value}
    try:
        return _READERS[reader](named, words, now)
    except (ValueError, OverflowError):  # 30 February, 13th month, 999 years before the year 500
        return None


def _count(named: Named, words: DateWords) -> int:
    return int(named["count"]) if named["count"].isdigit() else words.numbers[named["count"]]


def _read_days_ago(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    ago = next(days for word, days in words.days_ago.items() if re.fullmatch(word, named["days_ago"]))
    return calendar_span("day", now.date() - timedelta(days=ago))


def _read_this(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    return calendar_span(_calendar_unit(named, words), now.date())


def _read_last(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    if "weekday" in named:
        return _before_today(words.weekdays[named["weekday"]], now, or_today=False)
    if "month" in named:
        return read_day_or_month(None, words.months[named["month"]], None, now)
    unit = _calendar_unit(named, words)
    return calendar_span(unit, units_back(unit, now.date(), 1))


def _read_last_few(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    return last_few(words.units[named["unit"]], _count(named, words), now)


def last_few(unit: str, count: int, now: datetime) -> TimeSpan:
    """So many units up to and including today."""
    until = calendar_span("day", now.date()).until
    if unit == "hour":
        return TimeSpan(now - timedelta(hours=count), until)
    return span_of(units_back(unit, now.date(), count), until.date())


def _read_ago(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    unit = words.units[named["unit"]]
    if unit == "hour":
        raise ValueError(unit)
    return calendar_span(unit, units_back(unit, now.date(), _count(named, words)))


def _calendar_unit(named: Named, words: DateWords) -> str:
    unit = words.units[named["unit"]]
    if unit in ("day", "hour"):
        raise ValueError(unit)
    return unit


def _read_day_or_month(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    month, year = named.get("month") or named["month_2"], named.get("year") or named.get("year_2")
    number = int(month) if month.isdigit() else words.months[month]
    day = int(named["day"]) if "day" in named else None
    return read_day_or_month(day, number, int(year) if year else None, now)


def read_day_or_month(day: int | None, month: int, year: int | None, now: datetime) -> TimeSpan:
    """A day, or without one a month; without a year the latest that has begun. Raises ``ValueError`` for no date."""
    found = date(year or now.year, month, day or 1)
    if year is None and found > now.date():
        found = date(now.year - 1, month, day or 1)
    return calendar_span("day" if day else "month", found)


def _read_quarter(named: Named, words: DateWords, _now: datetime) -> TimeSpan:
    number = int(named["quarter"]) if "quarter" in named else words.ordinals[named["ordinal"]]
    return calendar_span("quarter", date(int(named["year"]), number * 3 - 2, 1))


def _read_weekday(named: Named, words: DateWords, now: datetime) -> TimeSpan:
    return _before_today(words.weekdays[named["weekday"]], now, or_today=True)


def _before_today(weekday: int, now: datetime, *, or_today: bool) -> TimeSpan:
    ago = (now.weekday() - weekday) % 7
    return calendar_span("day", now.date() - timedelta(days=ago or (0 if or_today else 7)))


def _read_year(named: Named, _words: DateWords, _now: datetime) -> TimeSpan:
    return calendar_span("year", date(int(named["year"]), 1, 1))


_READERS: Mapping[str, Callable[[Named, DateWords, datetime], TimeSpan]] = {
    "days_ago": _read_days_ago,
    "this": _read_this,
    "last": _read_last,
    "last_few": _read_last_few,
    "ago": _read_ago,
    "day_or_month": _read_day_or_month,
    "quarter": _read_quarter,
    "weekday": _read_weekday,
    "year": _read_year,
}


@cache
def _compile(language: str) -> _Rules:
    words = DATE_WORDS[language]
    relations = "|".join(sorted(words.relations, key=len, reverse=True))
    before = rf"(?:(?<!\w)(?P<word>{relations})\s+)?(?:(?<!\w)(?:{words.fillers})\s*)?(?<!\w)$"
    return _Rules(
        words=words,
        rules=tuple((_pattern(template, words), reader, kind) for template, reader, kind in words.rules),
        before=re.compile(before, re.IGNORECASE),
        relations=tuple((re.compile(pattern), meaning) for pattern, meaning in words.relations.items()),
        between=re.compile(rf"\s+(?:{words.joined_by})\s+(?:(?:{words.fillers})\s+)?", re.IGNORECASE),
    )


def _pattern(template: str, words: DateWords) -> re.Pattern[str]:
    """Matches whole words only, no part of a path, a version or a longer number."""
    parts = {
        "DAYS_AGO": rf"(?P<days_ago>{_any(words.days_ago)})",
        "UNIT": rf"(?P<unit>{_any(words.units)})",
        "COUNT": rf"(?P<count>\d{{1,3}}|{_any(words.numbers)})",
        "ORDINAL": rf"(?P<ordinal>{_any(words.ordinals)})",
        "MONTH": rf"(?P<month>{_any(words.months)})\.?",
        "WEEKDAY": rf"(?P<weekday>{_any(words.weekdays)})",
        "DAY": r"(?P<day>\d{1,2})",
        "YEAR": r"(?P<year>(?:19|20)\d\d)",
    }
    for name, part in parts.items():
        template = template.replace(f"{{{name}}}", part)
    return re.compile(rf"(?<![\w/.\-])(?:{template})(?![\w/\-]|\.\w)", re.IGNORECASE)


def _any(words: Mapping[str, object]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))

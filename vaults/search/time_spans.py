"""Spans of time, and days, weeks, months, quarters and years before a day. Pure. Days are UTC days; weeks begin on
Monday."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From ``since`` up to, not including, ``until``; UTC. ``EARLIEST`` and ``LATEST`` stand for no bound."""

    since: datetime
    until: datetime


def open_end(word: str, span: TimeSpan) -> TimeSpan:
    """The span as a word before it means: "since", "after", "before", "until"; any other leaves it."""
    if word == "since":
        return TimeSpan(span.since, LATEST)
    if word == "after":
        return TimeSpan(span.until, LATEST)
    if word in ("before", "until", "till"):
        return TimeSpan(EARLIEST, span.since if word == "before" else span.until)
    return span


def span_of(since: date, until: date) -> TimeSpan:
    """From one midnight to another."""
    return TimeSpan(datetime.combine(since, time.min, UTC), datetime.combine(until, time.min, UTC))


def calendar_span(unit: str, day: date) -> TimeSpan:
    """The day, week, month, quarter or year that ``day`` is in."""
    if unit in ("day", "week"):
        first = day - timedelta(days=day.weekday() if unit == "week" else 0)
        return span_of(first, first + timedelta(days=7 if unit == "week" else 1))
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = day.replace(month=(day.month - 1) // months * months + 1, day=1)
    return span_of(first, months_on(first, months))


def months_on(day: date, count: int) -> date:
    """The same day ``count`` months later; the 28th for the last days of a month."""
    total = day.year * 12 + day.month - 1 + count
    return day.replace(year=total // 12, month=total % 12 + 1, day=min(day.day, 28))


def units_back(unit: str, day: date, count: int) -> date:
    if unit in ("day", "week"):
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    return months_on(day, -count * {"month": 1, "quarter": 3, "year": 12}[unit])

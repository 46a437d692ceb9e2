"""Mapping stored times to days, weeks and months in UTC. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Literal

PeriodUnit = Literal["day", "week", "month"]


def to_period(moment: str, unit: PeriodUnit) -> str:
    """The period of a stored time or a day: ``2026-11-21``, ``2026-W47`` or ``2026-11``; '' for an invalid time."""
    if unit == "month":
        return moment[:7]
    try:
        day = date.fromisoformat(moment[:10])
    except ValueError:
        return ""
    return _to_name(day, unit)


def _to_name(day: date, unit: PeriodUnit) -> str:
    if unit == "day":
        return day.isoformat()
    if unit == "month":
        return day.isoformat()[:7]
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def list_first_days(last: date, unit: PeriodUnit, number: int) -> list[date]:
    """The first days of ``number`` periods up to the one that contains ``last``, oldest first."""
    return list(_iter_back(last, unit, number))[::-1]


def _iter_back(last: date, unit: PeriodUnit, number: int) -> Iterator[date]:
    start = last
    if unit == "week":
        start = last - timedelta(days=last.weekday())
    elif unit == "month":
        start = last.replace(day=1)
    for _ in range(number):
        yield start
        if start <= date(1, 3, 1):
            return
        before = start - timedelta(days=1)
        start = {"day": before, "week": start - timedelta(days=7), "month": before.replace(day=1)}[unit]

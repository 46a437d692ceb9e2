"""Mapping stored times to days, weeks and months in UTC. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Literal

PeriodUnit = Literal["day", "week", "month"]


def to_period(moment: str, by: PeriodUnit) -> str:
    """The period of a stored time or a day: ``2026-11-21``, ``2026-W47`` or ``2026-11``; '' for an invalid time."""
    if by == "month":
        return moment[:7]
    try:
        day = date.fromisoformat(moment[:10])
    except ValueError:
        return ""
    return _to_name(day, by)


def _to_name(day: date, by: PeriodUnit) -> str:
    if by == "day":
        return day.isoformat()
    if by == "month":
        return day.isoformat()[:7]
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def list_first_days(last: date, by: PeriodUnit, number: int) -> list[date]:
    """The first days of ``number`` periods up to the one that contains ``last``, oldest first."""
    return list(_iter_back(last, by, number))[::-1]


def _iter_back(last: date, by: PeriodUnit, number: int) -> Iterator[date]:
    start = last
    if by == "week":
        start = last - timedelta(days=last.weekday())
    elif by == "month":
        start = last.replace(day=1)
    for _ in range(number):
        yield start
        if start <= date(1, 3, 1):
            return
        before = start - timedelta(days=1)
        start = {"day": before, "week": start - timedelta(days=7), "month": before.replace(day=1)}[by]

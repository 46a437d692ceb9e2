"""Which backups are kept. Pure.

``4`` keeps the newest four. ``7d 4w 12m`` keeps the last of each of seven days, four weeks and twelve months that have
one; terms add up. What counts as newer is the number of a backup, never its time: a clock that was set back makes no
good backup old. The newest is kept whatever the plan says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ops.backup.snapshot_name import SnapshotName

_TERM = re.compile(r"([1-9][0-9]{0,3})([hdwmy]?)", re.ASCII)

_PERIODS: dict[str, Callable[[datetime, int], object]] = {
    "": lambda _moment, number: number,
    "h": lambda moment, _number: (moment.date(), moment.hour),
    "d": lambda moment, _number: moment.date(),
    "w": lambda moment, _number: moment.isocalendar()[:2],
    "m": lambda moment, _number: (moment.year, moment.month),
    "y": lambda moment, _number: moment.year,
}


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """``terms``: how many, of which period ('' for each backup)."""

    terms: tuple[tuple[int, str], ...]


def parse_plan(text: str) -> RotationPlan:
    """The plan as it is written in settings. Raises ``ValueError`` with a message fit for who wrote it."""
    terms: list[tuple[int, str]] = []
    for word in text.split():
        found = _TERM.fullmatch(word)
        if found is None or found[2] in (period for _, period in terms):
            break
        terms.append((int(found[1]), found[2]))
    else:
        if terms:
            return RotationPlan(tuple(terms))
    raise ValueError("must be a number of backups, such as 4, or numbers of h, d, w, m, y once each: 7d 4w 12m")


def choose_kept(there: Sequence[SnapshotName], plan: RotationPlan) -> frozenset[SnapshotName]:
    """Those of ``there`` that are kept; the others may go."""
    newest_first = sorted(there, reverse=True)
    kept = set(newest_first[:1])
    for count, period in plan.terms:
        kept.update(_last_of_each(newest_first, count, _PERIODS[period]))
    return frozenset(kept)


def _last_of_each(
    newest_first: Sequence[SnapshotName], count: int, period_of: Callable[[datetime, int], object]
) -> list[SnapshotName]:
    """The last backup of each of ``count`` periods. A period begins wherever the backup before is of another one, also
    where the clock went back to it: that may keep more of a day, and never less."""
    found: list[SnapshotName] = []
    current: object = None
    for name in newest_first:
        period = period_of(_moment(name), name.number)
        if period != current:
            current = period
            found.append(name)
        if len(found) > count:
            return found[:count]
    return found


def _moment(name: SnapshotName) -> datetime:
    try:
        return datetime.strptime(name.moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:  # no moment that exists: of its own period
        return datetime.min.replace(tzinfo=UTC)

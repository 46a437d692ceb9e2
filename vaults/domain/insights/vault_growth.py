"""The growth of a vault: notes, memories the caller may see, and links, by day, week or month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from vaults.db.sql import Reader, Row
from vaults.domain.actors import Actor
from vaults.domain.insights import periods
from vaults.domain.insights.periods import PeriodUnit
from vaults.domain.memories.memory_model import ID_START, day_of_id, id_start
from vaults.graph import daily_counts
from vaults.graph.daily_counts import DailyCounts
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class GrowthPeriod:
    """What came in a span of time: notes and memories that are still there, edits of notes by tools, links that came
    and went while somebody looked. ``totals``: what the vault held at its end, where that was written down."""

    period: str
    notes: int
    memories: int
    edits: int
    links_added: int
    links_removed: int
    totals: DailyCounts | None = None


async def read_growth(vault: Vault, actor: Actor, unit: PeriodUnit, number: int) -> list[GrowthPeriod]:
    """The last ``number`` periods up to today, UTC, oldest first."""
    starts = periods.list_first_days(datetime.now(UTC).date(), unit, number)
    return await vault.db.read(lambda tx: _read_periods(tx, actor.identity, unit, starts))


def _read_periods(tx: Reader, viewer: str, unit: PeriodUnit, starts: list[date]) -> list[GrowthPeriod]:
    first = starts[0].isoformat()
    notes = _count_by_period(_count_by_day(tx, "notes", "created_at", first), unit)
    edits = _count_by_period(_count_by_day(tx, "note_changes", "at", first, "state = 'done'"), unit)
    added = _count_by_period(_count_by_day(tx, "link_history", "at", first, "added = 1"), unit)
    removed = _count_by_period(_count_by_day(tx, "link_history", "at", first, "added = 0"), unit)
    memories = _count_by_period(_count_memories(tx, viewer, starts[0]), unit)
    totals = _make_totals(daily_counts.read_since(tx, first), unit)
    names = [periods.to_period(start.isoformat(), unit) for start in starts]
    return [
        GrowthPeriod(
            period=each,
            notes=notes[each],
            memories=memories[each],
            edits=edits[each],
            links_added=added[each],
            links_removed=removed[each],
            totals=totals(each),
        )
        for each in names
    ]


def _count_by_day(tx: Reader, table: str, column: str, first: str, where: str = "TRUE") -> list[Row]:
    day = f"SUBSTR({column}, 1, 10)"
    return tx.all(
        f"SELECT {day}, COUNT(*) FROM {table} WHERE {column} >= :first AND {where} GROUP BY {day}", {"first": first}
    )


def _count_memories(tx: Reader, viewer: str, first: date) -> list[tuple[str, int]]:
    """Count memories by the time they were stored, which their ids start with, not by any date they state."""
    rows = tx.all(
        "SELECT SUBSTR(id, 1, :length), COUNT(*) FROM memories WHERE id >= :first"
        " AND (visibility = 'shared' OR stored_by = :viewer) GROUP BY SUBSTR(id, 1, :length)",
        {
            "first": id_start(datetime(first.year, first.month, first.day, tzinfo=UTC)),
            "length": ID_START,
            "viewer": viewer,
        },
    )
    return [(day_of_id(str(start)), int(count)) for start, count in rows]


def _count_by_period(rows: list[Row] | list[tuple[str, int]], unit: PeriodUnit) -> Counter[str]:
    found: Counter[str] = Counter()
    for day, count in rows:
        found[periods.to_period(str(day), unit)] += int(count)
    return found


def _make_totals(written: Mapping[str, DailyCounts], unit: PeriodUnit) -> Callable[[str], DailyCounts | None]:
    """A lookup of the totals recorded last in a period, or carried over from an earlier one."""
    last = dict(_iter_last(written, unit))

    def of(period: str) -> DailyCounts | None:
        earlier = [name for name in last if name <= period]
        return last[max(earlier)] if earlier else None

    return of


def _iter_last(written: Mapping[str, DailyCounts], unit: PeriodUnit) -> Iterator[tuple[str, DailyCounts]]:
    for day in sorted(written):
        yield periods.to_period(day, unit), written[day]


def sum_periods(found: list[GrowthPeriod]) -> dict[str, int]:
    """The sums over all periods."""
    names = ("notes", "memories", "edits", "links_added", "links_removed")
    return {name: sum(int(getattr(each, name)) for each in found) for name in names}

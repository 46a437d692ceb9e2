"""The growth of a vault: notes, memories the caller may see, and links, by day, week or month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from vaults import clock
from vaults.db.sql import Reader, Row
from vaults.domain.actors import Actor
from vaults.domain.insights import periods
from vaults.domain.insights.periods import PeriodUnit
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


async def read_growth(vault: Vault, actor: Actor, by: PeriodUnit, number: int) -> list[GrowthPeriod]:
    """The last ``number`` periods up to today, UTC, oldest first."""
    starts = periods.list_first_days(datetime.now(UTC).date(), by, number)
    return await vault.db.read(lambda tx: _read_periods(tx, actor.identity, by, starts))


def _read_periods(tx: Reader, viewer: str, by: PeriodUnit, starts: list[date]) -> list[GrowthPeriod]:
    first = starts[0].isoformat()
    notes = _count_by_period(_count_by_day(tx, "notes", "created_at", first), by)
    edits = _count_by_period(_count_by_day(tx, "note_changes", "at", first, "state = 'done'"), by)
    added = _count_by_period(_count_by_day(tx, "link_history", "at", first, "added = 1"), by)
    removed = _count_by_period(_count_by_day(tx, "link_history", "at", first, "added = 0"), by)
    memories = _count_by_period(_count_memories(tx, viewer, starts[0]), by)
    totals = _make_totals(daily_counts.read_since(tx, first), by)
    names = [periods.to_period(start.isoformat(), by) for start in starts]
    return [
        GrowthPeriod(each, notes[each], memories[each], edits[each], added[each], removed[each], totals(each))
        for each in names
    ]


def _count_by_day(tx: Reader, table: str, column: str, first: str, where: str = "TRUE") -> list[Row]:
    day = f"SUBSTR({column}, 1, 10)"
    return tx.all(f"SELECT {day}, COUNT(*) FROM {table} WHERE {column} >= ? AND {where} GROUP BY {day}", (first,))


def _count_memories(tx: Reader, viewer: str, first: date) -> list[tuple[str, int]]:
    """Count memories by the time they were stored, which their ids start with, not by any date they state."""
    began = int(datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp() * 1000)
    rows = tx.all(
        "SELECT SUBSTR(id, 1, 8), COUNT(*) FROM memories WHERE id >= :first"
        " AND (visibility = 'shared' OR stored_by = :viewer) GROUP BY SUBSTR(id, 1, 8)",
        {"first": f"{max(0, began):012x}"[:8], "viewer": viewer},
    )
    return [(_to_day(str(digits)), int(count)) for digits, count in rows]


def _to_day(digits: str) -> str:
    """The day from the first eight hex digits of an id, which have a resolution of 66 seconds."""
    try:
        return clock.to_text(datetime.fromtimestamp((int(digits, 16) << 16) / 1000, UTC))[:10]
    except (ValueError, OverflowError, OSError):
        return ""  # an id of another format


def _count_by_period(rows: list[Row] | list[tuple[str, int]], by: PeriodUnit) -> Counter[str]:
    found: Counter[str] = Counter()
    for day, count in rows:
        found[periods.to_period(str(day), by)] += int(count)
    return found


def _make_totals(written: Mapping[str, DailyCounts], by: PeriodUnit) -> Callable[[str], DailyCounts | None]:
    """A lookup of the totals recorded last in a period, or carried over from an earlier one."""
    last = dict(_iter_last(written, by))

    def of(period: str) -> DailyCounts | None:
        earlier = [name for name in last if name <= period]
        return last[max(earlier)] if earlier else None

    return of


def _iter_last(written: Mapping[str, DailyCounts], by: PeriodUnit) -> Iterator[tuple[str, DailyCounts]]:
    for day in sorted(written):
        yield periods.to_period(day, by), written[day]


def sum_periods(found: list[GrowthPeriod]) -> dict[str, int]:
    """The sums over all periods."""
    names = ("notes", "memories", "edits", "links_added", "links_removed")
    return {name: sum(int(getattr(each, name)) for each in found) for name in names}

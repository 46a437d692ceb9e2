"""How a vault grew: notes, memories the caller may see, and links, by day, week or month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from vaults import clock
from vaults.db.sql import Reader, Row
from vaults.domain.insights import periods
from vaults.domain.insights.periods import By
from vaults.domain.memories.memory_model import Actor
from vaults.graph import daily_counts
from vaults.graph.daily_counts import Figures
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Period:
    """What came in a span of time: notes and memories that are still there, edits of notes by tools, links that came
    and went while somebody looked. ``totals``: what the vault held at its end, where that was written down."""

    period: str
    notes: int
    memories: int
    edits: int
    links_added: int
    links_removed: int
    totals: Figures | None = None


async def growth(vault: Vault, actor: Actor, by: By, number: int) -> list[Period]:
    """The last ``number`` periods up to today, UTC, oldest first."""
    starts = periods.first_days(datetime.now(UTC).date(), by, number)
    return await vault.db.read(lambda tx: _grown(tx, actor.identity, by, starts))


def _grown(tx: Reader, viewer: str, by: By, starts: list[date]) -> list[Period]:
    first = starts[0].isoformat()
    notes = _counted(_by_day(tx, "notes", "created_at", first), by)
    edits = _counted(_by_day(tx, "note_changes", "at", first, "state = 'done'"), by)
    added = _counted(_by_day(tx, "link_history", "at", first, "added = 1"), by)
    removed = _counted(_by_day(tx, "link_history", "at", first, "added = 0"), by)
    memories = _counted(_memories(tx, viewer, starts[0]), by)
    totals = _totals(daily_counts.since(tx, first), by)
    names = [periods.of(start.isoformat(), by) for start in starts]
    return [
        Period(each, notes[each], memories[each], edits[each], added[each], removed[each], totals(each))
        for each in names
    ]


def _by_day(tx: Reader, table: str, column: str, first: str, where: str = "TRUE") -> list[Row]:
    day = f"SUBSTR({column}, 1, 10)"
    return tx.all(f"SELECT {day}, COUNT(*) FROM {table} WHERE {column} >= ? AND {where} GROUP BY {day}", (first,))


def _memories(tx: Reader, viewer: str, first: date) -> list[tuple[str, int]]:
    """By the time at which they were stored, which their ids begin with, whatever they say of their own."""
    began = int(datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp() * 1000)
    rows = tx.all(
        "SELECT SUBSTR(id, 1, 8), COUNT(*) FROM memories WHERE id >= :first"
        " AND (visibility = 'shared' OR stored_by = :viewer) GROUP BY SUBSTR(id, 1, 8)",
        {"first": f"{max(0, began):012x}"[:8], "viewer": viewer},
    )
    return [(_day(str(digits)), int(count)) for digits, count in rows]


def _day(digits: str) -> str:
    """Of the first eight digits of an id, which tell 66 seconds."""
    try:
        return clock.text(datetime.fromtimestamp((int(digits, 16) << 16) / 1000, UTC))[:10]
    except (ValueError, OverflowError, OSError):
        return ""  # an id of another making


def _counted(rows: list[Row] | list[tuple[str, int]], by: By) -> Counter[str]:
    found: Counter[str] = Counter()
    for day, count in rows:
        found[periods.of(str(day), by)] += int(count)
    return found


def _totals(written: Mapping[str, Figures], by: By) -> Callable[[str], Figures | None]:
    """What was written down last in each period, or stood since an earlier one."""
    last = dict(_last(written, by))

    def of(period: str) -> Figures | None:
        earlier = [name for name in last if name <= period]
        return last[max(earlier)] if earlier else None

    return of


def _last(written: Mapping[str, Figures], by: By) -> Iterator[tuple[str, Figures]]:
    for day in sorted(written):
        yield periods.of(day, by), written[day]


def change(found: list[Period]) -> dict[str, int]:
    """All of it in one."""
    names = ("notes", "memories", "edits", "links_added", "links_removed")
    return {name: sum(int(getattr(each, name)) for each in found) for name in names}

"""How a vault grew, day by day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.memories.memory_model import ID_START, id_start, moment_of_id
from vaults.report_cache import KeptReport
from vaults.vault import Vault

DAYS = 30


@dataclass(frozen=True, slots=True)
class DayGrowth:
    """What came on one day, UTC: memories stored or brought in, and files of notes made. ``size``: characters of those
    memories and bytes of those notes."""

    day: str
    memories: int
    notes: int
    size: int


async def read_daily_growth(vault: Vault, actor: Actor) -> list[DayGrowth]:
    """The last 30 days on which something arrived that ``actor`` may see and that still exists, oldest first. Counted
    once, until the vault changes or the oldest of what was counted is too old."""
    since = datetime.now(UTC) - timedelta(days=DAYS)
    key, at = ("growth", actor.identity), clock.to_text(since)
    known = vault.reports.get(key)

    def read(tx: Reader) -> KeptReport:
        version = tx.version()
        if known is not None and known.holds(version, at):
            return known
        growth, oldest = count_growth(tx, actor.identity, since)
        return KeptReport(version, at, oldest, tuple(growth))

    kept = await vault.db.read(read)
    vault.reports.keep(key, kept)
    return list(kept.found)


def count_growth(tx: Reader, viewer: str, since: datetime) -> tuple[list[DayGrowth], str | None]:
    """Like ``read_daily_growth``, in one transaction; and a time, in stored form, before which ``since`` may move with
    the count staying the same."""
    memories, notes, sizes = Counter[str](), Counter[str](), Counter[str]()
    oldest: list[str] = []
    for moment, count, size in tx.all(
        "SELECT SUBSTR(id, 1, :length), COUNT(*), SUM(LENGTH(content)) FROM memories WHERE id >= :first AND"
        " (visibility = 'shared' OR stored_by = :viewer) GROUP BY SUBSTR(id, 1, :length)",
        {"first": id_start(since), "length": ID_START, "viewer": viewer},
    ):
        begun = moment_of_id(str(moment))
        memories[begun[:10]] += int(count)
        sizes[begun[:10]] += int(size)
        oldest += [begun] if begun else []
    for day, count, size, created, modified in tx.all(
        "SELECT SUBSTR(created_at, 1, 10), COUNT(*), SUM(size), MIN(created_at), MIN(modified_at) FROM notes"
        " WHERE modified_at >= :since AND created_at >= :since GROUP BY SUBSTR(created_at, 1, 10)",
        {"since": clock.to_text(since)},
    ):
        notes[str(day)] += int(count)
        sizes[str(day)] += int(size)
        oldest += [created, modified]
    return [DayGrowth(day, memories[day], notes[day], sizes[day]) for day in sorted(sizes)], min(oldest, default=None)

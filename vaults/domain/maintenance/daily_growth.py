"""How a vault grew, day by day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.memories.memory_model import ID_START, day_of_id, id_start
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
    """The last 30 days on which something arrived that ``actor`` may see and that still exists, oldest first."""
    return await vault.db.read(lambda tx: count_growth(tx, actor.identity))


def count_growth(tx: Reader, viewer: str) -> list[DayGrowth]:
    """Like ``read_daily_growth``, in one transaction."""
    since = datetime.now(UTC) - timedelta(days=DAYS)
    memories, notes, sizes = Counter[str](), Counter[str](), Counter[str]()
    for moment, count, size in tx.all(
        "SELECT SUBSTR(id, 1, :length), COUNT(*), SUM(LENGTH(content)) FROM memories WHERE id >= :first AND"
        " (visibility = 'shared' OR stored_by = :viewer) GROUP BY SUBSTR(id, 1, :length)",
        {"first": id_start(since), "length": ID_START, "viewer": viewer},
    ):
        day = day_of_id(str(moment))
        memories[day] += int(count)
        sizes[day] += int(size)
    for day, count, size in tx.all(
        "SELECT SUBSTR(created_at, 1, 10), COUNT(*), SUM(size) FROM notes WHERE modified_at >= :since AND"
        " created_at >= :since GROUP BY SUBSTR(created_at, 1, 10)",
        {"since": clock.to_text(since)},
    ):
        notes[str(day)] += int(count)
        sizes[str(day)] += int(size)
    return [DayGrowth(day, memories[day], notes[day], sizes[day]) for day in sorted(sizes)]

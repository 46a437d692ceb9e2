"""Counters per UTC day, kept in control.db: how much was stored today.

Counting is in memory and written in batches, so a store costs no second transaction. Several processes add up in
the table; each sees the others' share at its next flush, so a limit may be passed by what they all do in between.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from auth.principal import Principal
from vaults.db.connection import Database
from vaults.db.sql import Reader, Writer
from vaults.errors import QuotaExceeded, StrongroomError

FLUSH_S = 5.0
KEEP_DAYS = 30


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


class DayCounters:
    """``start`` it, ``count``, ``close`` it: closing writes what is left. One per process."""

    def __init__(
        self, db: Database, limit: int | None, *, today: Callable[[], str] = _today, flush_s: float = FLUSH_S
    ) -> None:
        self._db = db
        self._limit = limit
        self._today = today
        self._flush_s = flush_s
        self._day = ""
        self._known: dict[str, int] = {}  # scope → total in the table when last looked at
        self._unwritten: Counter[tuple[str, str]] = Counter()  # (scope, day) → not yet in the table
        self._task: asyncio.Task[None] | None = None
        self.failure: Exception | None = None

    async def start(self) -> None:
        """Begin to write counts in batches; nothing to do when there is no limit."""
        if self._limit is not None:
            self._task = asyncio.create_task(self._flush_now_and_then(), name="day-counters")

    async def count_stores(self, principal: Principal, stores: int = 1) -> None:
        """Count before storing. Raises ``QuotaExceeded``, and counts nothing, when the day's share is used up."""
        if self._limit is None:
            return
        scope, day = f"stores:{principal.key}", self._current_day()
        if scope not in self._known:
            used = await self._db.read(lambda reader: _used(reader, scope, day))
            if day == self._day:  # else the day changed while we waited
                self._known.setdefault(scope, used)
        used = self._known.get(scope, 0) + self._unwritten[scope, day]
        if used + stores > self._limit:
            raise QuotaExceeded(
                f"{used} of {self._limit} stores of this day are used",
                hint="the count starts again at 00:00 UTC",
                limit=self._limit,
                used=used,
            )
        self._unwritten[scope, day] += stores

    async def flush(self) -> None:
        """Write what was counted and learn what other processes counted. A failed write loses nothing."""
        taken = +self._unwritten
        if not taken:
            return
        totals = await self._db.write(lambda writer: _add(writer, taken, self._day))
        self._unwritten -= taken
        self._known.update({scope: used for (scope, day), used in totals.items() if day == self._day})

    async def close(self) -> None:
        """Stop, and write the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self.flush()

    def _current_day(self) -> str:
        # A wall clock set back must not give a caller the day again.
        day = max(self._day, self._today())
        if day != self._day:
            self._day, self._known = day, {}
        return day

    async def _flush_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self._flush_s)
            try:
                await self.flush()
                self.failure = None
            except StrongroomError as failure:
                self.failure = failure  # kept and counted; the next round writes it


def _used(reader: Reader, scope: str, day: str) -> int:
    used = reader.value("SELECT used FROM usage_days WHERE scope = :scope AND day = :day", {"scope": scope, "day": day})
    return int(used or 0)


def _add(writer: Writer, counts: Counter[tuple[str, str]], today: str) -> dict[tuple[str, str], int]:
    totals = {}
    for (scope, day), count in counts.items():
        writer.run(
            "INSERT INTO usage_days (scope, day, used) VALUES (:scope, :day, :used)"
            " ON CONFLICT (scope, day) DO UPDATE SET used = usage_days.used + excluded.used",
            {"scope": scope, "day": day, "used": count},
        )
        totals[scope, day] = _used(writer, scope, day)
    keep_from = datetime.fromordinal(datetime.fromisoformat(today).toordinal() - KEEP_DAYS).strftime("%Y-%m-%d")
    writer.run("DELETE FROM usage_days WHERE day < :day", {"day": keep_from})
    return totals

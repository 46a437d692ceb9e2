"""Counters per UTC day, kept in control.db: how much was stored today.

Counts are kept in memory and written in batches, so a store costs no second transaction. Several processes, and all
servers of a cluster, add up in the table; each sees what the others wrote at its next flush, and looks where that is
``KNOWN_S`` ago. So a limit may be passed by what each of the others stores within ``FLUSH_S`` and ``KNOWN_S``. A server
that is killed takes with it what it counted since its last flush.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from auth.plans import PlanBound
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import StrongroomError

FLUSH_S = 5.0

KNOWN_S = 7.5
"""Seconds for which the total of a counter is believed: longer than between two flushes, which tell it anew."""

KEEP_DAYS = 30


@dataclass(frozen=True, slots=True)
class CounterShare:
    """A counter that a store adds to, and its bound; None: it is only counted."""

    counter: str
    bound: PlanBound | None


@dataclass(frozen=True, slots=True)
class StoreReservation:
    """Stores that were let in; those not used are given back."""

    counters: tuple[str, ...]
    day: str
    stores: int


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


class DailyUsage:
    """``start`` it, ``take`` before storing, ``close`` it: closing writes what is left. One per process."""

    def __init__(
        self,
        db: Transactions,
        *,
        today: Callable[[], str] = _today,
        flush_s: float = FLUSH_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._today = today
        self._flush_s = flush_s
        self._clock = clock
        self._day = ""
        self._known: dict[str, tuple[int, float]] = {}  # counter → total in the table, and when that was looked at
        self._unwritten: Counter[tuple[str, str]] = Counter()  # (counter, day) → not yet in the table
        self._seen: set[str] = set()  # today
        self._sighted: Counter[tuple[str, str]] = Counter()  # as ``_unwritten``, of what was only seen
        self._task: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self.failure: Exception | None = None

    async def start(self) -> None:
        """Begin to write counts in batches."""
        self._task = asyncio.create_task(self._flush_now_and_then(), name="daily-usage")

    async def take(self, shares: Sequence[CounterShare], stores: int = 1) -> StoreReservation:
        """Count up to ``stores`` of them, as many as every share has left. Raises ``QuotaExceeded``, and counts
        nothing, when one has nothing left."""
        day = await self._learn([share.counter for share in shares])
        for share in shares:  # no other task runs from here on
            if share.bound is not None:
                left = share.bound.limit - self._count(share.counter, day)
                if left < 1:
                    raise share.bound.exceeded(self.resets_at)
                stores = min(stores, left)
        for share in shares:
            self._unwritten[share.counter, day] += stores
        return StoreReservation(tuple(share.counter for share in shares), day, stores)

    def mark_seen(self, counter: str) -> None:
        """Note that something was seen today: once per day and process, however often it is."""
        day = self._current_day()
        if counter not in self._seen:
            self._seen.add(counter)
            self._sighted[counter, day] = 1

    def give_back(self, reservation: StoreReservation, stores: int) -> None:
        """Uncount what was let in but not stored."""
        for counter in reservation.counters:
            self._unwritten[counter, reservation.day] -= stores

    async def used(self, counters: Sequence[str]) -> Mapping[str, int]:
        """Today's count of each."""
        day = await self._learn(counters)
        return {counter: self._count(counter, day) for counter in counters}

    @property
    def resets_at(self) -> str:
        """When the current day ends, RFC 3339."""
        return (datetime.fromisoformat(self._current_day()) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def flush(self) -> None:
        """Write what was counted and learn what other processes counted. A failed write loses no count."""
        async with self._flushing:
            await self._flush()

    async def _flush(self) -> None:
        await self._write_sighted()
        taken = Counter({key: count for key, count in self._unwritten.items() if count})
        if not taken:
            return
        day = self._current_day()
        totals = await self._db.write(lambda writer: _add(writer, taken, day))
        self._unwritten.subtract(taken)
        self._unwritten = Counter({key: count for key, count in self._unwritten.items() if count})
        now = self._clock()
        self._known.update({counter: (used, now) for (counter, of), used in totals.items() if of == self._day})

    async def _write_sighted(self) -> None:
        if not self._sighted:
            return
        sighted, self._sighted = self._sighted, Counter()
        day = self._current_day()
        # A disk that is full or read-only is no reason to fail where nothing was stored: tomorrow it is seen again.
        with suppress(StrongroomError):
            await self._db.write(lambda writer: _add(writer, sighted, day))

    async def close(self) -> None:
        """Stop, and write the rest."""
        if self._task is not None:
            async with self._flushing:  # a write that is cancelled may be done all the same, and would be made again
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self.flush()

    async def _learn(self, counters: Sequence[str]) -> str:
        """Load today's totals from the table where unknown, or known for long; returns the day."""
        while True:
            day, asked_at = self._current_day(), self._clock()
            unknown = [counter for counter in counters if not self._is_known(counter, asked_at)]
            if not unknown:
                return day
            found = await self._db.read(partial(_read_totals, counters=unknown, day=day))
            # The total may hold what a flush has just written and not yet taken off what is unwritten: counted twice.
            async with self._flushing:
                if day != self._current_day():  # it changed while we waited
                    continue
                for counter, used in found.items():
                    if not self._is_known(counter, asked_at):  # else a flush knows better
                        self._known[counter] = used, self._clock()

    def _is_known(self, counter: str, now: float) -> bool:
        known = self._known.get(counter)
        return known is not None and now - known[1] < KNOWN_S

    def _count(self, counter: str, day: str) -> int:
        return self._known[counter][0] + self._unwritten[counter, day]

    def _current_day(self) -> str:
        # A wall clock set back must not give a caller the day again.
        day = max(self._day, self._today())
        if day != self._day:
            self._day, self._known, self._seen = day, {}, set()
        return day

    async def _flush_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self._flush_s)
            try:
                await self.flush()
                self.failure = None
            except StrongroomError as failure:
                self.failure = failure  # kept and counted; the next round writes it


def find_counted(reader: Reader, prefix: str) -> set[str]:
    """Counters that begin with ``prefix`` and were counted in the last ``KEEP_DAYS`` days, without the prefix."""
    rows = reader.all(
        "SELECT DISTINCT substr(scope, :after) FROM usage_days WHERE substr(scope, 1, :size) = :prefix",
        {"after": len(prefix) + 1, "size": len(prefix), "prefix": prefix},
    )
    return {str(counter) for (counter,) in rows}


def _read_totals(reader: Reader, counters: Sequence[str], day: str) -> dict[str, int]:
    return {counter: _read_used(reader, counter, day) for counter in counters}


def _read_used(reader: Reader, counter: str, day: str) -> int:
    used = reader.value(
        "SELECT used FROM usage_days WHERE scope = :scope AND day = :day", {"scope": counter, "day": day}
    )
    return int(used or 0)


def _add(writer: Writer, counts: Mapping[tuple[str, str], int], today: str) -> dict[tuple[str, str], int]:
    totals = {}
    for (counter, day), count in counts.items():
        writer.run(
            "INSERT INTO usage_days (scope, day, used) VALUES (:scope, :day, :used)"
            " ON CONFLICT (scope, day) DO UPDATE SET used = usage_days.used + excluded.used",
            {"scope": counter, "day": day, "used": count},
        )
        totals[counter, day] = _read_used(writer, counter, day)
    keep_from = datetime.fromordinal(datetime.fromisoformat(today).toordinal() - KEEP_DAYS).strftime("%Y-%m-%d")
    writer.run("DELETE FROM usage_days WHERE day < :day", {"day": keep_from})
    return totals

"""Caches grants and tokens in memory; refuses everybody when it cannot keep them current.

A change made here is seen at once, one made by another process (the CLI, a second worker) within a poll. Changes show
in ``Transactions.version``, which needs no writing: a read-only data folder is served too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from auth.access import NO_ACCESS, AccessSnapshot, load_access
from auth.awake_clock import AwakeClock
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import StrongroomError, VaultUnavailable

T = TypeVar("T")

POLL_S = 1.0
STALE_S = 5.0
"""Seconds without a successful look at control.db after which nobody is let in. Only time in which the event loop ran
counts: a loop that stood still says nothing about the database."""

CATCH_UP_S = 1.0
"""Seconds a request waits for the look that a stall delayed."""


class AccessCache:
    """``start`` it, read ``current``, ``close`` it. One per process.

    ``followers`` run on a thread at each poll, for whatever else must notice changes on disk (the signing keys).
    """

    def __init__(
        self,
        db: Transactions,
        *,
        followers: Sequence[Callable[[], object]] = (),
        poll_s: float = POLL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._followers = tuple(followers)
        self._poll_s = poll_s
        self._clock = clock
        self._access: AccessSnapshot = NO_ACCESS
        self._marker: tuple[int, int] | None = None
        self._awake = AwakeClock(clock)
        self._fresh_at: float | None = None
        self._fresh_awake = 0.0
        self._one_at_a_time = asyncio.Lock()
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self.failure: Exception | None = None

    @property
    def current(self) -> AccessSnapshot:
        """The snapshot, at most ``STALE_S`` of a running loop old; ``VaultUnavailable`` rather than an older one."""
        if self._is_stale():
            raise VaultUnavailable("grants cannot be read at the moment", hint="call again in a few seconds")
        return self._access

    async def start(self) -> None:
        """Load the snapshot, then keep it current. Raises what the first load raises."""
        await self.refresh()
        self._tasks = (
            asyncio.create_task(self._awake.keep(), name="access-cache-clock"),
            asyncio.create_task(self._poll(), name="access-cache"),
        )

    async def catch_up(self) -> None:
        """Refresh now if a stall of the loop delayed the poll, so that nobody is let in by an outdated snapshot."""
        if self._is_stale() or (self._fresh_at is not None and self._clock() - self._fresh_at <= STALE_S):
            return  # the poll had its chances, or is on time
        with suppress(StrongroomError, TimeoutError):  # ``current`` knows whether the old snapshot still holds
            async with asyncio.timeout(CATCH_UP_S):
                await self.refresh()

    def _is_stale(self) -> bool:
        return self._fresh_at is None or self._awake() - self._fresh_awake > STALE_S

    async def refresh(self) -> AccessSnapshot:
        """Look for changes now; one thread hop when there are none."""
        async with self._one_at_a_time:
            # Time and marker are taken before the read: what changes in between is seen next time.
            started, awake = self._clock(), self._awake()
            marker = await self._db.version()
            if marker != self._marker:
                self._access = await self._db.read(load_access)
                self._marker = marker
            self._fresh_at, self._fresh_awake = started, awake
            self.failure = None
            return self._access

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Change grants or tokens; ``current`` has the change when this returns."""
        result = await self._db.write(work)
        try:
            await self.refresh()
        except StrongroomError as failure:
            self.failure = failure  # the write is durable; the poll catches up, or everything is refused
        return result

    async def close(self) -> None:
        """Stop the poll. The database stays open: its owner closes it."""
        tasks, self._tasks = self._tasks, ()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            try:
                for follow in self._followers:
                    await asyncio.to_thread(follow)
                await self.refresh()
            except Exception as failure:  # noqa: BLE001  root of a task: kept for health, and ``current`` goes stale
                self.failure = failure

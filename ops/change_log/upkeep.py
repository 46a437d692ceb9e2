"""What a log needs besides its segments: a new base when its line has grown long, and an end to what is too old.

What fails here is tried again later; the line goes on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

from ops.change_log.follower import Follower
from ops.change_log.log_shelf import LogShelf
from ops.change_log.shipper import Shipper
from vaults.context import run_in
from vaults.db.wal_tail import WalGap

MIN_LINE_BYTES = 32 * 1024 * 1024
"""Stored bytes since the last base, if that was not larger, after which the next is due."""

MAX_LINE_SEGMENTS = 20_000
"""Segments since the last base after which the next is due."""

MAX_GROWTH_BYTES = 64 * 1024 * 1024
"""Bytes SQLite's log may grow by while a base of a smaller database is stored."""

BASE_RETRY_S = 60.0
"""Seconds until a base that could not be stored is begun again."""

PRUNE_S = 3600.0
"""Seconds between two deletions of what is too old."""

AtStore: TypeAlias = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]
"""Runs on a thread for the store."""

_END = object()


class Upkeep:
    """Of one line."""

    def __init__(self, shelf: LogShelf, shipper: Shipper, follower: Follower, line: str) -> None:
        self._shelf, self._shipper, self._follower, self._line = shelf, shipper, follower, line
        self._base: Iterator[None] | None = None
        self._base_after = 0.0
        self._pruned = time.monotonic() - PRUNE_S

    @property
    def is_storing_base(self) -> bool:
        """Whether SQLite's log must not be started over now."""
        return self._base is not None

    def give_base_up(self) -> None:
        """The base that was begun could not be stored."""
        self._base, self._base_after = None, time.monotonic() + BASE_RETRY_S

    async def store_base(self, at_store: AtStore) -> bool:
        """Go on with a base that was begun, for about as long as between two looks; begin one where it is due. Whether
        there is more to do at once."""
        if self._base is None:
            if not self._is_base_due():
                return False
            source, position = await run_in(self._shelf.pool, self._follower.freeze)
            self._base = self._shipper.store_base(source, self._line, position)
        if self._follower.log_bytes > max(MAX_GROWTH_BYTES, self._follower.database_bytes):
            self._base = None  # writers are faster than the store; again once SQLite's log was let start over
            return False
        base, until = self._base, time.monotonic() + self._shelf.every_s
        try:
            while time.monotonic() < until:
                if await at_store(lambda: next(base, _END)) is _END:
                    self._base = None
                    return False
        except WalGap:  # a purge emptied SQLite's log: the base cannot be read on, but every commit was recorded
            if self._follower.is_lost:
                raise
            self._base = None  # another one at once
        return True

    def store_whole_base(self) -> None:
        """Store one now. Blocking."""
        source, position = self._follower.freeze()
        for _ in self._shipper.store_base(source, self._line, position):
            continue

    def _is_base_due(self) -> bool:
        shipper = self._shipper
        is_long = shipper.base_bytes is None or shipper.bytes_since_base > max(MIN_LINE_BYTES, shipper.base_bytes)
        is_due = is_long or shipper.segments_since_base >= MAX_LINE_SEGMENTS
        return is_due and time.monotonic() >= self._base_after

    async def prune(self, at_store: AtStore) -> None:
        """Delete what is too old, now and then, and never by a clock that was just put."""
        is_steady = self._shelf.clock.is_steady()
        if not is_steady or time.monotonic() - self._pruned < PRUNE_S or self._base is not None:
            return
        self._pruned = time.monotonic()
        before = time.time_ns() // 1_000_000 - self._shelf.keep_s * 1000
        await at_store(lambda: self._shipper.delete_expired(before))

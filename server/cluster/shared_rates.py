"""Rates, calls at once and attempts, counted over all servers of an installation.

Each server counts in its own memory as a single one does, tells the others what it counted, and adds what they told it.
So no call waits for another server. A server tells of a key only once it counted a twentieth of its limit more than it
told, so that whoever is far from a limit costs nothing, and asks only while somebody calls.

How far a limit can be passed: by what each other server counted and has not told, which is less than a twentieth of the
limit and what came within ``SHARE_S`` and the time that two statements take. Without PostgreSQL each server counts
alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from auth.shared_counts import LookAtCount
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.rate_counts import RateCount, RateCounts
from vaults.context import begin_apart, run_to_completion
from vaults.errors import StrongroomError

SHARE_S = 0.5
"""Seconds between two exchanges while there are calls."""

QUIET_S = 60.0
"""Seconds after the last call for which the others are still asked."""

SWEEP_S = 300.0
"""Seconds between two sweeps of what counts no more."""

STEPS = 20
"""Parts of a limit in which others are told of it."""

KNOWN_KEYS = 8192
"""Keys whose digests are kept: each call counts under several."""

FORGOTTEN_S = 10.0
"""Seconds for which others can learn that something counts no more; those who do not ask forget it later."""


class CountExchange(Protocol):
    """Where servers tell each other: ``vaults/cluster/postgres/rate_counts.py``. Blocking."""

    def exchange(self, own: Sequence[RateCount]) -> list[RateCount]:
        """Tell what changed here, and learn what changed elsewhere."""

    def sweep(self) -> None:
        """Remove what counts no more."""


@dataclass(slots=True)
class _WatchedKey:
    """A key that something is counted under, and what the others were told of it."""

    key: Hashable
    look: LookAtCount
    limit: int
    told: int = 0
    told_until: float = 0.0

    def due(self, now: float) -> tuple[int, float] | None:
        """The hits, and the seconds they count, where the others should know; None: what they know will do."""
        hits, left_s = self.look(self.key)
        hits = min(hits, self.limit)
        known = self.told if now < self.told_until else 0
        is_step = abs(hits - known) >= max(1, self.limit // STEPS)
        if hits == 0:
            return (0, FORGOTTEN_S) if known else None
        return (hits, left_s) if is_step or (known and self.told_until < now + left_s / 2) else None


class SharedRates:
    """A ``SharedCounts``. ``start`` it, ``close`` it. ``clock`` is that of the counters."""

    def __init__(
        self, exchange: CountExchange, clock: Callable[[], float] = time.monotonic, share_s: float = SHARE_S
    ) -> None:
        self._exchange = exchange
        self._clock = clock
        self._share_s = share_s
        self._watched: dict[bytes, _WatchedKey] = {}
        """What was counted since the last exchange, and what was told and is not over."""
        self._elsewhere: dict[bytes, dict[str, tuple[int, float]]] = {}
        """By key and server, the hits and until when they count."""
        self._called = asyncio.Event()
        self._called_at = self._swept_at = clock()
        self._task: asyncio.Task[None] | None = None
        self.failure: StrongroomError | None = None
        """Why the last exchange failed: each server counts alone."""

    def join(self, name: str, look: LookAtCount) -> CountsOfOthers:
        """The contract's."""
        return CountsOfOthers(self, name, look)

    def start(self) -> None:
        """Begin to tell and to ask, as soon as somebody calls."""
        self._task = begin_apart(self._run(), "shared-rates")

    async def close(self) -> None:
        """Stop. What was told counts elsewhere for as long as it would have."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def note(self, digest: bytes, key: Hashable, look: LookAtCount, limit: int) -> int:
        """Something is counted under a key; what the others count there."""
        if digest not in self._watched:
            self._watched[digest] = _WatchedKey(key, look, limit)
        self._called_at = now = self._clock()
        self._called.set()
        others = self._elsewhere.get(digest)
        return 0 if others is None else sum(hits for hits, until in others.values() if until > now)

    def forget(self, digest: bytes) -> None:
        """What others counted under a key counts no more here; of what is counted here they are told."""
        self._elsewhere.pop(digest, None)
        self._called.set()

    async def _run(self) -> None:
        while True:
            await self._called.wait()
            if self._clock() - self._called_at > QUIET_S:
                self._called.clear()
            try:
                await self.exchange_once()
                self.failure = None
            except StrongroomError as failure:
                self.failure = failure  # the next round tries again
            await asyncio.sleep(self._share_s)

    async def exchange_once(self) -> None:
        """Tell what is due, and learn what the others told. Raises as the exchange does; it is told again then."""
        now = self._clock()
        watched, self._watched = self._watched, {}
        due = {digest: told for digest, each in watched.items() if (told := each.due(now)) is not None}
        own = [RateCount("", digest, hits, left_s) for digest, (hits, left_s) in due.items()]
        try:
            learned = await run_to_completion(asyncio.to_thread(self._exchange.exchange, own))
        except BaseException:
            self._watched |= watched
            raise
        for digest, (hits, left_s) in due.items():
            watched[digest].told, watched[digest].told_until = hits, now + left_s
        self._watched |= {digest: each for digest, each in watched.items() if each.told and each.told_until > now}
        self._learn(learned)
        if now - self._swept_at > SWEEP_S:
            self._swept_at = now
            await self._sweep(now)

    def _learn(self, learned: Sequence[RateCount]) -> None:
        now = self._clock()
        for each in learned:
            self._elsewhere.setdefault(each.key, {})[each.server] = each.hits, now + each.left_s

    async def _sweep(self, now: float) -> None:
        living = {
            key: {server: count for server, count in by_server.items() if count[1] > now}
            for key, by_server in self._elsewhere.items()
        }
        self._elsewhere = {key: by_server for key, by_server in living.items() if by_server}
        with suppress(StrongroomError):  # they count for nobody; the next sweep removes them
            await asyncio.to_thread(self._exchange.sweep)


class CountsOfOthers:
    """A ``CountsElsewhere``."""

    def __init__(self, shared: SharedRates, name: str, look: LookAtCount) -> None:
        self._shared = shared
        self._name = name
        self._look = look

    def count(self, key: Hashable, limit: int) -> int:
        """The contract's."""
        return self._shared.note(_digest(self._name, key), key, self._look, limit)

    def forget(self, key: Hashable) -> None:
        """The contract's."""
        self._shared.forget(_digest(self._name, key))


@lru_cache(KNOWN_KEYS)
def _digest(name: str, key: Hashable) -> bytes:
    """The same on every server: of texts, numbers and tuples of them."""
    return hashlib.blake2b(repr((name, key)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def open_shared_rates(stack: AsyncExitStack, connections: Connections) -> SharedRates:
    """What this server counts beside the others; ``stack`` closes it."""
    shared = SharedRates(RateCounts(connections))
    shared.start()
    stack.push_async_callback(shared.close)
    return shared

"""Records which notes are found or read together. Collected in memory and written outside of calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence

from vaults import clock
from vaults.db.connection import Database
from vaults.errors import StrongroomError
from vaults.graph import co_access_pairs
from vaults.graph.co_access_pairs import CoAccessPair

FLUSH_S = 5.0
"""Seconds a record waits for others to share its transaction."""

FLUSH_WAIT_S = 1.0
"""Seconds a reader of pairs waits for the newest of them to be written."""

MAX_PENDING = 20_000
"""Pairs kept while they cannot be written; further ones are lost: they are hints, not records."""

MAX_OPENED = 4
"""Notes a session opened last that pair with the next one it opens."""

MAX_SESSIONS = 1_000
"""Sessions whose last notes are remembered, least recently active first out."""


class CoAccessRecorder:
    """Collects pairs and writes them. One per open vault, used on its event loop; a killed process loses the last
    seconds."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._met: Counter[CoAccessPair] = Counter()
        self._open: OrderedDict[str, deque[str]] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def record_found(self, paths: Sequence[str]) -> None:
        """Record the notes of one answer, by path, best first. Only notes, never memories."""
        if len(paths) > 1:
            self._add(co_access_pairs.pair_all("found", paths))

    def record_opened(self, session: str, paths: Sequence[str]) -> None:
        """Record notes a session was given to read, one after another."""
        for path in paths[: co_access_pairs.MAX_NOTES]:
            last = self._open.setdefault(session, deque(maxlen=MAX_OPENED))
            self._open.move_to_end(session)
            self._add(co_access_pairs.pair_with("read", path, last))
            if path not in last:
                last.append(path)
        while len(self._open) > MAX_SESSIONS:
            self._open.popitem(last=False)

    def _add(self, met: Mapping[CoAccessPair, float]) -> None:
        if met and len(self._met) < MAX_PENDING:
            self._met.update(met)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._begin)

    def _begin(self) -> asyncio.Task[None]:
        task = asyncio.create_task(self.write_out(), name="co-access")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def flush(self) -> None:
        """Write what is pending, waiting ``FLUSH_WAIT_S`` at most: another process may hold the vault."""
        if self._met:
            task = self._begin()
            await asyncio.wait({task}, timeout=FLUSH_WAIT_S)

    async def write_out(self) -> None:
        """Write what is pending. What the disk refuses is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        met, self._met = self._met, Counter()
        if met:
            now = clock.now()
            with contextlib.suppress(StrongroomError):
                await self._db.write_uncounted(lambda tx: co_access_pairs.add_weights(tx, met, now))

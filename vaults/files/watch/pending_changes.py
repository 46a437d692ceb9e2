"""What has changed since the consumer last asked: one window, bounded however long the consumer takes.

There is no queue. Changes go into a set until they are taken; a set that grows past its limit is replaced by "look at
everything", which is also cheaper to act on.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from dataclasses import dataclass, field

MAX_PATHS = 2_000  # above that, one look at the whole vault is cheaper than so many at its parts
_LONGEST_WAIT_S = 3_600.0
_LONGEST_FLOOD = 20


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """Notes and folders to look at again, as paths inside the vault; a folder means everything below it.

    ``rescan`` means all of the vault: events were lost, there are too many to list, or it is time to make sure.
    A path says only where to look, never what happened there.
    """

    paths: frozenset[str]
    rescan: bool


@dataclass(slots=True)
class PendingChanges:
    """Collects on the event loop only. A window is delivered after ``quiet_s`` without a change, and
    ``longest_s`` after its first one even if changes never cease. Of one with more than ``limit`` paths ``flood_s``
    without a change are awaited, and twenty times that at most: looking at everything while a repository is being
    checked out would have to be done again."""

    quiet_s: float
    longest_s: float
    limit: int = MAX_PATHS
    flood_s: float = 0.0
    _paths: set[str] = field(default_factory=set)
    _folders: set[str] = field(default_factory=set)
    _rescan: bool = False
    _flooded: bool = False
    _first: float = math.inf
    _last: float = math.inf
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def touch(self, path: str, *, folder: bool = False) -> None:
        """Record a change of the note ``path``, or of the folder and what is below it."""
        self._last = time.monotonic()
        if self._first == math.inf:
            self._first = self._last
            self._woken.set()
        if self._rescan:
            return
        self._paths.add(path)
        if folder:
            self._folders.add(path)
        if len(self._paths) > self.limit:
            self._forget_paths()
            self._rescan = self._flooded = True

    def everything(self) -> None:
        """Ask for a look at all of the vault, at once."""
        self._forget_paths()
        self._rescan, self._flooded = True, False
        self._first = self._last = -math.inf
        self._woken.set()

    def clear(self) -> None:
        """Forget the window: what it names is no longer there."""
        self._forget_paths()
        self._rescan = self._flooded = False
        self._first = self._last = math.inf

    def wake(self) -> None:
        """Make ``take`` return, so that its caller checks its own state again."""
        self._woken.set()

    async def take(self, until: float) -> ChangedPaths | None:
        """The next window, or None at ``until`` (a reading of the monotonic clock) or when woken before it is due."""
        while (now := time.monotonic()) < min(self._due(), until):
            window = self._first
            self._woken.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._due() - now, until - now, _LONGEST_WAIT_S)):
                    await self._woken.wait()
                    if self._first == window:
                        return None
        return self._drain() if now >= self._due() else None

    def _due(self) -> float:
        flood_s = self.flood_s if self._flooded else 0.0
        return min(self._last + max(self.quiet_s, flood_s), self._first + max(self.longest_s, flood_s * _LONGEST_FLOOD))

    def _drain(self) -> ChangedPaths:
        paths = frozenset(path for path in self._paths if not self._under_a_folder(path))
        changed = ChangedPaths(paths, self._rescan)
        self.clear()
        return changed

    def _under_a_folder(self, path: str) -> bool:
        above = path.rpartition("/")[0]
        while above and above not in self._folders:
            above = above.rpartition("/")[0]
        return bool(above)

    def _forget_paths(self) -> None:
        self._paths.clear()
        self._folders.clear()

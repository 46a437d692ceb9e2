"""A second look at vaults and grants, before somebody is told that there is no such vault: another server, or a
command, may have made it a moment ago, and the polls of the caches come once a second."""

from __future__ import annotations

import time
from collections.abc import Callable

from auth.access_cache import AccessCache
from auth.rate_windows import MonotonicWindows
from vaults.errors import StrongroomError
from vaults.registry_cache import RegistryCache

LOOKS_PER_S = 8
"""Of all callers together: whoever guesses names has control asked no more often. Beyond it the polls are waited
for."""


class LateChanges:
    """Made once for a process; on its event loop."""

    def __init__(
        self, registry_cache: RegistryCache, access_cache: AccessCache, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._registry_cache = registry_cache
        self._access_cache = access_cache
        self._looks = MonotonicWindows(clock)

    async def look(self) -> bool:
        """Take up what others changed. False: it was not tried, or failed, and what is known stays as it was."""
        if self._looks.hit("look", 1.0) > LOOKS_PER_S:
            return False
        try:
            await self._registry_cache.refresh()
            await self._access_cache.refresh()
        except StrongroomError:  # the caches notice by themselves, and refuse everybody while it lasts
            return False
        return True

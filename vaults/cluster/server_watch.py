"""Which servers have been silent for a whole lease, by this server's own clock.

PostgreSQL's clock says when a server's time is over, but it may be put, and a standby that is promoted has another
one. So a server is called silent only where its beat was also seen to stand still for the length of a lease: from
when it was first seen, which is after it was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vaults.cluster.held_lease import elapsed_s

SLACK = 1.01
"""How much slower another machine's clock may go: twenty times what is allowed for putting a clock right by and by."""


@dataclass(frozen=True, slots=True)
class ServerBeat:
    """A server as its last heartbeat left it: ``beat`` goes up with each; ``address`` is where others reach it."""

    id: str
    address: str
    version: str
    beat: int


class ServerWatch:
    """Pure but for its clock. One thread."""

    def __init__(self, lease_s: float, clock: Callable[[], float] = elapsed_s) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._since: dict[ServerBeat, float] = {}

    def note(self, beats: Iterable[ServerBeat]) -> None:
        """All servers, as they were read just now."""
        now = self._clock()
        self._since = {beat: self._since.get(beat, now) for beat in beats}

    def silent(self) -> list[ServerBeat]:
        """Servers whose lease is over, whatever their own clocks say."""
        over = self._clock() - self._lease_s * SLACK
        return [beat for beat, since in self._since.items() if since <= over]

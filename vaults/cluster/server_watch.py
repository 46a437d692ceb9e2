"""Which servers have been silent for a whole lease, by this server's own clock.

PostgreSQL's clock says when a server's time is over, but it may be put, and a standby that is promoted has another
one. So a server is called silent only where its beat was also seen to stand still for the length of its lease: from
when it was first seen, which is after it was sent. Who could not look for a while, as nobody can while PostgreSQL is
away, begins anew: else the first to come back would remove all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from vaults.cluster.held_lease import elapsed_s

SLACK = 1.01
"""How much slower another machine's clock may go: twenty times what is allowed for putting a clock right by and by."""


ServerState = Literal["serving", "draining", "command"]
"""``draining``: it gives its vaults away; ``command``: it holds the vault of a command, and nobody is sent to it."""


@dataclass(frozen=True, slots=True)
class ServerBeat:
    """A server as its last heartbeat left it: ``beat`` goes up with each; ``address`` is where others reach it, who are
    shown ``certificate`` (PEM). ``name`` is what an operator calls it; only ``id`` is its own. Its lease is its own, so
    that a change of that setting may go from server to server. ``weight``: how many vaults it is to have, beside
    servers of other weights; ``cpu`` and ``memory``: shares of its cores, and of its memory for vectors, in use."""

    id: str
    address: str
    version: str
    beat: int
    lease_s: float
    name: str = ""
    state: ServerState = "serving"
    certificate: str = ""
    weight: float = 1.0
    cpu: float = 0.0
    memory: float = 0.0


class ServerWatch:
    """Pure but for its clock. One thread."""

    def __init__(self, lease_s: float, clock: Callable[[], float] = elapsed_s) -> None:
        self._blink_s = lease_s / 2
        self._clock = clock
        self._looked = clock()
        self._since: dict[ServerBeat, float] = {}

    def note(self, beats: Iterable[ServerBeat]) -> None:
        """All servers, as they were read just now."""
        now = self._clock()
        known = self._since if now - self._looked <= self._blink_s else {}
        self._since = {beat: known.get(beat, now) for beat in beats}
        self._looked = now

    def silent(self) -> list[ServerBeat]:
        """Servers whose lease is over, whatever their own clocks say."""
        now = self._clock()
        return [beat for beat, since in self._since.items() if now - since >= beat.lease_s * SLACK]

    def next_silent_s(self) -> float:
        """Seconds until the first of them is silent, if it does not beat before; 0 where one is."""
        now = self._clock()
        return max(0.0, min((since + beat.lease_s * SLACK - now for beat, since in self._since.items()), default=0.0))

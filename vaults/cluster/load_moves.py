"""Moving vaults from a server that is busy to one that is not.

Where a vault is served is its hash's, or a pin's. A server that uses more of its cores, or of its memory for vectors,
than ``LoadPolicy.busy_at`` has one of its vaults belong to one with much less, and hands it over; then it waits until
what came of that shows in the averages of both. Of all servers the first in load gives to the last, the second to the
last but one and so on, so that no two of them give to the same one at a time. A vault takes at most half of the
difference: the two never change places. Nor is the other one made busy with what it was not asked to take.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Literal

from vaults.cluster.hand_overs import HandOvers
from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.rendezvous import schema_of
from vaults.cluster.server_load import LoadMeter, ServerLoad
from vaults.cluster.server_watch import ServerBeat
from vaults.context import begin_apart
from vaults.errors import StrongroomError

GAP = 0.3
"""How much less the other server must use of the same, as a part of ``LoadPolicy.busy_at``."""

LEAST = 0.03
"""What a vault must take for a move to be worth it, which shuts it out for some tenths of a second; a part as well."""

LONG_CALL_S = 2.0
"""A vault stays while a call has it for as long: a hand-over waits for calls, and gives up those that do not end."""

AVERAGES_A_MOVE = 3
"""Averages go over a third of the time between two moves."""

Resource = Literal["cpu", "memory"]
_RESOURCES: tuple[tuple[Resource, Resource], ...] = (("cpu", "memory"), ("memory", "cpu"))

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadPolicy:
    """``busy_at``: the share in use above which a server gives vaults away, 1 for never; ``every_s``: seconds between
    two moves by one server, or to one."""

    busy_at: float
    every_s: float


@dataclass(frozen=True, slots=True)
class LoadMove:
    """``server``: the one that is to have the vault; ``used``: the share of ``resource`` in use where it is now."""

    vault: str
    server: ServerBeat
    resource: Resource
    used: float

    def __str__(self) -> str:
        share = attrgetter(self.resource)(self.server)
        name = self.server.name or self.server.id
        return f"vault {self.vault} goes to {name}: {self.resource} {self.used:.0%} here, {share:.0%} there"


def choose_move(
    own: str, servers: Sequence[ServerBeat], load: ServerLoad, busy_at: float, may_go: Callable[[str, str], bool]
) -> LoadMove | None:
    """The vault that the server with the id ``own`` is to give away, and to which of ``servers``, which may be given
    some; None where nothing would be better. ``may_go`` is asked of a vault and the id of a server."""
    for resource, beside in _RESOURCES:
        share, other = attrgetter(resource), attrgetter(beside)
        here = share(load)
        partner = _partner(own, servers, share)
        if partner is None or here <= busy_at or here - share(partner) < GAP * busy_at:
            continue
        fitting = [
            each
            for each in load.vaults
            if LEAST * busy_at <= share(each) <= (here - share(partner)) / 2
            and other(partner) + other(each) <= busy_at
            and may_go(each.vault, partner.id)
        ]
        if fitting:
            return LoadMove(max(fitting, key=share).vault, partner, resource, here)
    return None


def _partner(own: str, servers: Sequence[ServerBeat], share: Callable[[ServerBeat], float]) -> ServerBeat | None:
    ranked = sorted(servers, key=lambda server: (-share(server), server.id))
    rank = next((number for number, server in enumerate(ranked) if server.id == own), len(ranked))
    return ranked[-1 - rank] if rank < len(ranked) // 2 else None


class LoadMoves:
    """Looks at each beat. On the event loop; ``close`` ends what is under way."""

    def __init__(self, held: HeldVaults, hand_overs: HandOvers, meter: LoadMeter, policy: LoadPolicy) -> None:
        self._held = held
        self._membership = held.membership
        self._hand_overs = hand_overs
        self.meter = meter
        self._policy = policy
        self._settling: dict[str, float] = {}
        """Until when the averages of a server, by its id, do not tell what it is about to have to do."""
        self._moved: Mapping[str, str] = {}
        self._moving: asyncio.Task[None] | None = None
        held.membership.on_beat.append(self._note_beat)

    async def close(self) -> None:
        """Move nothing any more."""
        self._membership.on_beat.remove(self._note_beat)
        if self._moving is not None:
            await asyncio.gather(self._moving, return_exceptions=True)

    def _note_beat(self) -> None:
        if self._held.opened is None:
            return
        uses = self._held.opened.uses()
        load = self.meter.sample(uses)
        self._membership.tell_load(load.cpu, load.memory)
        self._held.observer.on_load(load.cpu, load.memory)
        servers = self._settled()
        if self._moving is None or self._moving.done():
            may_go = partial(self._may_go, {use.vault for use in uses if use.longest_call_s > LONG_CALL_S})
            move = choose_move(self._membership.id, servers, load, self._policy.busy_at, may_go)
            if move is not None:
                self._unsettle([self._membership.id, move.server.id])
                self._moving = begin_apart(self._move(move), "load-move")

    def _settled(self) -> Sequence[ServerBeat]:
        """Servers of this one's release that serve, and did so for a while without being given a vault."""
        own = self._membership.find(self._membership.id)
        alike = [each for each in self._membership.servers if own is not None and schema_of(each) == schema_of(own)]
        self._settling = {id_: until for id_, until in self._settling.items() if self._membership.find(id_)}
        self._unsettle(each.id for each in alike if each.id not in self._settling)
        moved = self._held.moved
        self._unsettle(moved[vault] for vault in moved if moved[vault] != self._moved.get(vault))
        self._moved = moved
        now = time.monotonic()
        return [each for each in alike if each.state == "serving" and self._settling[each.id] <= now]

    def _unsettle(self, servers: Iterable[str]) -> None:
        until = time.monotonic() + self._policy.every_s
        self._settling |= dict.fromkeys(servers, until)

    def _may_go(self, occupied: Set[str], vault: str, to: str) -> bool:
        """Whether no long call has it, no operator pinned it, and it would be served there at once."""
        is_pinned = vault in self._held.pins and vault not in self._held.moved
        return vault not in occupied and not is_pinned and self._hand_overs.is_awaited(vault, to)

    async def _move(self, move: LoadMove) -> None:
        with suppress(StrongroomError):  # it stays here, and is looked at again
            own, to = self._membership.id, move.server.id
            if await asyncio.to_thread(self._held.placements.move, move.vault, own, to):
                _log.info("%s", move)
                self._held.observer.on_moved()
                self._hand_overs.begin(move.vault, to)

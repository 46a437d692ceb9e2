"""Standby copies of the large vaults that are this server's once their holders die: made, brought up and dropped in
rounds, one vault at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.postgres.large_vaults import LargeVault, LargeVaults
from vaults.cluster.rendezvous import prefer, prefer_after
from vaults.cluster.server_watch import ServerBeat
from vaults.cluster.standby_copies import StandbyCopies
from vaults.context import begin_apart, run_in
from vaults.disk_reserve import MB, free_bytes
from vaults.errors import StrongroomError

ROUND_S = 5.0
"""Seconds between two rounds. Entries go once a new base is uploaded, which takes longer for most large vaults: so they
are read before."""

ROOM = 2
"""A copy is made where the disk has room for so many of it."""


class StandbyRounds:
    """On the event loop; ``close`` gives up what is under way."""

    def __init__(self, held: HeldVaults, copies: StandbyCopies, large: LargeVaults, reserve_mb: int) -> None:
        self._held = held
        self._membership = held.membership
        self._copies = copies
        self._large = large
        self._reserve = reserve_mb * MB
        self._round: asyncio.Task[None] | None = None
        self._next_at = 0.0
        self._said: tuple[str, frozenset[str]] | None = None
        """Which server was said to have which copies."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="standby")
        held.standby = copies
        held.membership.on_beat.append(self._look)

    async def close(self) -> None:
        """Keep no copies up any more."""
        self._membership.on_beat.remove(self._look)
        self._copies.stop()
        if self._round is not None:
            await asyncio.gather(self._round, return_exceptions=True)
        await asyncio.to_thread(self._thread.shutdown)

    def _look(self) -> None:
        if self._round is None and time.monotonic() >= self._next_at:
            self._round = begin_apart(self._go_round(), "standby-round")

    async def _go_round(self) -> None:
        is_more = False
        try:
            with suppress(StrongroomError):  # asked again in the next one
                is_more = await run_in(self._thread, self.go_round)
        finally:
            self._next_at = time.monotonic() + (0.0 if is_more else ROUND_S)
            self._round = None

    def go_round(self) -> bool:
        """Bring every copy up, then make one that is missing. Whether more are. Blocking. Raises ``LogUnavailable``."""
        own, servers = self._membership.id, self._membership.servers
        if not own:
            return False
        used = dict.fromkeys(self._copies.begin_round())
        self._held.standbys = {**self._held.standbys, **used}  # until it is known who has the next copies
        large = self._large.find()
        self._held.standbys = {each.vault: each.standby for each in large if each.server == own}
        if not self._may_keep_copies():
            large = []
        wanted = [each for each in large if _is_next(own, each, servers, self._held.pins.get(each.vault))]
        taken = [each.vault for each in large if each.server == own]  # whose copies are about to be claimed
        self._copies.drop_all_but([*taken, *(each.vault for each in wanted)])
        missing = [each for each in wanted if not self._copies.bring_up(self._held.log, each)]
        self._tell(own)
        left = len(missing)
        for each in missing:
            left -= 1
            if self._has_room(each.base_mb) and self._copies.make(self._held.log, each):
                break
        self._tell(own)
        return left > 0

    def _may_keep_copies(self) -> bool:
        """A server that gives its vaults away is nobody's next holder; and copies are the first to make room."""
        return self._membership.state == "serving" and self._has_room(0)

    def _has_room(self, megabytes: int) -> bool:
        free = free_bytes(self._copies.folder)
        return free is None or free >= self._reserve + ROOM * megabytes * MB

    def _tell(self, own: str) -> None:
        self._held.observer.on_standby(self._copies.state())
        said = own, self._copies.vaults()
        if said != self._said:
            self._large.say_copies(*said)
            self._said = said


def _is_next(own: str, large: LargeVault, servers: Sequence[ServerBeat], pin: str | None) -> bool:
    """Whether the vault is this server's next: once its holder dies, or already, where that one has."""
    if large.server == own:
        return False
    if any(server.id == large.server for server in servers):
        target = prefer_after(large.vault, large.server, servers, pin)
    else:
        target = prefer(large.vault, servers, pin, large.standby)
    return target is not None and target.id == own

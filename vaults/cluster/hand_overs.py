"""Giving vaults away: those that others ask for, those that belong to another server, by their hash or a pin, and all
before this one ends."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Iterable

from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.postgres.placements import PlacementWishes
from vaults.cluster.rendezvous import schema_of
from vaults.context import begin_apart
from vaults.errors import StrongroomError
from vaults.vault_hosting import VaultElsewhere

CALLS_END_S = 10.0
"""Seconds that calls have to end before a vault is closed that is handed over."""

AT_ONCE = 4
"""Vaults that are handed over at a time."""

IDLE_S = 5.0
"""Seconds for which nobody may have used a vault that is given to the server it belongs to."""

REBALANCED_A_BEAT = 4
"""Vaults that are given to the servers they belong to, with each beat."""


class HandOvers:
    """Looks around after each beat. On the event loop; ``close`` ends what is under way."""

    def __init__(self, held: HeldVaults) -> None:
        self._held = held
        self._membership = held.membership
        self._under_way: dict[str, asyncio.Task[object]] = {}
        self._look: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._balanced: frozenset[str] = frozenset()
        """The held vaults that are where they belong, while these servers serve and nobody moves their pins."""
        self._balanced_over: frozenset[str] = frozenset()
        held.membership.on_beat.append(self._note_beat)

    async def drain(self, within_s: float | None = None) -> None:
        """Have the others serve every vault, those first that nobody uses. What is not handed over after ``within_s``,
        or where there are no others, is left for ``Membership.leave``. Again for nothing."""
        self._membership.drain()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while (vaults := self._held.ids()) and self._held.target_of(vaults[0]) is not None:
                    await self._give_all(sorted(vaults, key=self._idle_s, reverse=True))

    def refuse_early_migration(self, vault: str, schema: int) -> None:
        """A vault that was opened is about to be migrated to ``schema``: while servers are there that do not know it,
        it is left to one of them. Raises ``VaultElsewhere``."""
        for server in self._membership.servers:
            if server.state == "serving" and 0 < schema_of(server) < schema:
                self.begin(vault, server.id)
                raise VaultElsewhere(server.id, server.address)

    async def close(self) -> None:
        """Hand nothing over any more."""
        self._membership.on_beat.remove(self._note_beat)
        tasks = [*self._under_way.values(), *(each for each in (self._look, self._draining) if each is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _note_beat(self) -> None:
        if self._membership.state == "draining":
            if self._draining is None:
                self._draining = begin_apart(self.drain(), "drain-cluster")
            return
        if self._look is None or self._look.done():
            self._look = begin_apart(self._look_around(), "look-around-cluster")

    async def _look_around(self) -> None:
        with contextlib.suppress(StrongroomError):  # looked at again with the next beat
            wishes = await asyncio.to_thread(self._held.placements.wishes_for, self._membership.id)
            self._note_wishes(wishes)
            for vault in wishes.asked:
                self.begin(vault, None)
        self._rebalance()

    def _note_wishes(self, wishes: PlacementWishes) -> None:
        changed = self._held.pins.items() ^ wishes.pins.items()
        self._balanced -= {vault for vault, _ in changed}
        self._held.pins, self._held.moved = wishes.pins, wishes.moved

    def _rebalance(self) -> None:
        """Begin to give away vaults that nobody uses and that another server is preferred for now."""
        serving = frozenset(server.id for server in self._membership.servers if server.state == "serving")
        held = frozenset(self._held.ids())
        looked_at = self._balanced if serving == self._balanced_over else frozenset()
        targets = [(vault, self._held.target_of(vault)) for vault in held - looked_at]
        elsewhere = [(vault, target.id) for vault, target in targets if target and target.id != self._membership.id]
        self._balanced, self._balanced_over = held - {vault for vault, _ in elsewhere}, serving
        idle = [(vault, to) for vault, to in elsewhere if self._idle_s(vault) >= IDLE_S and self.is_awaited(vault, to)]
        for vault, to in idle[:REBALANCED_A_BEAT]:  # the others with the next beats
            self.begin(vault, to)

    def is_awaited(self, vault: str, to: str) -> bool:
        """Whether it is served there at once: a large one has a copy there first."""
        copies = self._held.standby
        if copies is not None and copies.is_used(vault):  # and nobody was asked yet who has the next one
            return False
        return self._held.standbys.get(vault, to) == to

    def _idle_s(self, vault: str) -> float:
        return math.inf if self._held.opened is None else self._held.opened.idle_s(vault)

    def begin(self, vault: str, to: str | None) -> None:
        """Hand it over to that server, or to whoever comes; nothing where that is under way."""
        if vault not in self._under_way:
            task = begin_apart(self._give(vault, to), "hand-over")
            self._under_way[vault] = task
            task.add_done_callback(lambda _: self._under_way.pop(vault, None))

    async def _give_all(self, vaults: Iterable[str]) -> None:
        limit = asyncio.Semaphore(AT_ONCE)

        async def give(vault: str) -> None:
            async with limit:
                target = self._held.target_of(vault)
                await self._give(vault, target.id if target else None)

        await asyncio.gather(*(give(vault) for vault in vaults))

    async def _give(self, vault: str, to: str | None) -> None:
        with contextlib.suppress(StrongroomError):  # it stays here, and is looked at again
            await self._held.hand_over(vault, CALLS_END_S, to)

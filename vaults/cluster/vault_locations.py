"""Where a vault is served, or is to be: asked of the database, and believed for a moment."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Protocol

from vaults.cluster.membership import Membership
from vaults.cluster.postgres.placements import Placements, VaultHolder
from vaults.cluster.rendezvous import prefer
from vaults.cluster.server_watch import ServerBeat
from vaults.errors import NotFound, VaultUnavailable

BELIEVED_S = 5.0
"""Seconds for which a holder is believed to be it, unless it is gone, or said otherwise: ``forget``."""

WAIT_S = 10.0
"""Seconds a call waits for a vault that nobody can be sent to: a command has it, or it is being handed over."""

LOOK_S = 0.1
"""Seconds between two looks meanwhile."""


class HereVaults(Protocol):
    """Which vaults this process has."""

    def is_here(self, vault_id: str) -> bool:
        """Whether it serves it."""

    def is_leaving(self, vault_id: str) -> bool:
        """Whether it is handing it over."""


class VaultLocations:
    """On the event loop."""

    def __init__(self, membership: Membership, placements: Placements, here: HereVaults) -> None:
        self._membership = membership
        self._placements = placements
        self._here = here
        self._believed: dict[str, tuple[str, float]] = {}
        self._serving: frozenset[str] = frozenset()
        self._others = asyncio.Event()
        """Set, and replaced, once other servers serve than before."""
        membership.on_beat.append(self._note_beat)

    async def locate(self, vault: str, *, forwarded: bool = False) -> ServerBeat | None:
        """The server that serves the vault, or is to take it; None: this one. ``forwarded``: another server sent the
        call here, so it is taken here where it is free. Raises ``VaultUnavailable`` after ``WAIT_S`` without either,
        ``LogUnavailable``."""
        if self._here.is_here(vault):
            return None
        if not forwarded and (believed := self._recall(vault)) is not None:
            return believed
        self._membership.require_seat()
        try:
            async with asyncio.timeout(WAIT_S):
                return await self._look(vault, forwarded=forwarded)
        except TimeoutError:
            raise VaultUnavailable("the vault is being handed over, or a command has it", hint="call again") from None

    def forget(self, vault: str) -> None:
        """The server that was told could not be reached, or does not have it."""
        self._believed.pop(vault, None)

    async def wait_for_others(self, at_most_s: float) -> None:
        """Return once other servers serve than now: where one is gone, its vaults are to be had."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await self._others.wait()

    def _note_beat(self) -> None:
        serving = frozenset(server.id for server in self._membership.servers if server.state == "serving")
        if serving != self._serving:
            self._serving = serving
            self._others.set()
            self._others = asyncio.Event()

    def _recall(self, vault: str) -> ServerBeat | None:
        server, until = self._believed.get(vault, ("", 0.0))
        found = self._membership.find(server) if time.monotonic() < until else None
        if found is None or found.state == "draining":  # which gives it away, and is soon gone
            self._believed.pop(vault, None)
            return None
        return found

    async def _look(self, vault: str, *, forwarded: bool) -> ServerBeat | None:
        while True:
            try:
                holder = await asyncio.to_thread(self._placements.holder, vault)
            except NotFound:
                return None  # which says so
            if forwarded and self._is_free(holder) and self._membership.state != "draining":
                return None
            found = self._target(holder)
            if found is not None and found.id == self._membership.id:
                if not self._here.is_leaving(vault):
                    return None
            elif found is not None and found.state != "command":
                if holder.server == found.id:
                    self._believed[vault] = found.id, time.monotonic() + BELIEVED_S
                return found
            await self.wait_for_others(LOOK_S)

    def _is_free(self, holder: VaultHolder) -> bool:
        return holder.address is None and holder.wanted in (None, self._membership.id)

    def _target(self, holder: VaultHolder) -> ServerBeat | None:
        """Who holds the vault, or is to take it; None while that is nobody who is known here by now."""
        if holder.address is not None and holder.server is not None:
            return self._membership.find(holder.server)
        if holder.wanted is not None:
            return self._membership.find(holder.wanted)
        return prefer(holder.vault, self._membership.candidates, holder.pin, holder.standby) or self._membership.find(
            self._membership.id
        )

"""This process as one of the servers: it joins, beats, knows the others, and comes back as another one when it was
taken for dead."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vaults.cluster.cluster_observer import ClusterObserver
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.heartbeat import BEATS_A_LEASE, Heartbeat
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.server_watch import ServerBeat, ServerState
from vaults.context import run_to_completion
from vaults.errors import StrongroomError

REJOIN_S, REJOIN_MOST_S = 0.1, 2.0
"""Seconds between two attempts to come back: the first, and the longest."""


@dataclass(frozen=True, slots=True)
class ServerCard:
    """What a server says of itself, under whatever id it joins. ``address`` is host:port, ``certificate`` PEM; both are
    empty for a process that takes no requests."""

    name: str
    version: str
    state: ServerState = "serving"
    address: str = ""
    certificate: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ServerSeat:
    """This server under one of its ids, and the lease that goes with that."""

    id: str
    lease: HeldLease


class Membership:
    """``join`` first. Everything is asked and told on the event loop; beats are made on a thread of their own."""

    def __init__(self, connections: Connections, card: ServerCard, lease_s: float, observer: ClusterObserver) -> None:
        self._connections = connections
        self._card = card
        self._lease_s = lease_s
        self._observer = observer
        self._sitting: _Sitting | None = None
        self._rejoining: asyncio.Task[None] | None = None
        self._is_leaving = False
        self._wanted_state: ServerState = card.state
        self.servers: tuple[ServerBeat, ...] = ()
        """All servers as the last beat found them, this one among them."""
        self.on_beat: list[Callable[[], None]] = []
        """Called after each beat that was answered."""
        self.on_removed: list[Callable[[], None]] = []
        """Called once this server was taken for dead, and every vault is lost; ``seat`` is gone already."""

    @property
    def seat(self) -> ServerSeat | None:
        """None while this server is none: it was taken for dead, and did not come back yet."""
        return self._sitting.seat if self._sitting is not None else None

    @property
    def id(self) -> str:
        """Under which the others know it now; empty while it is none of them."""
        return self._sitting.seat.id if self._sitting is not None else ""

    @property
    def state(self) -> ServerState:
        """As others see it, or will with the next beat."""
        own = next((server for server in self.servers if server.id == self.id), None)
        return "draining" if own is not None and own.state == "draining" else self._wanted_state

    def require_seat(self) -> ServerSeat:
        """Raises ``LogUnavailable`` while there is none."""
        if self._sitting is None:
            raise LogUnavailable("this server is not one of the cluster's at the moment")
        return self._sitting.seat

    @property
    def candidates(self) -> Sequence[ServerBeat]:
        """The servers that may be given a vault: all, or without this one where it gives its own away."""
        own = self.id if self.state == "draining" else ""
        return [server for server in self.servers if server.id != own]

    def find(self, server: str) -> ServerBeat | None:
        """A living server by its id, as the last beat found it."""
        return next((each for each in self.servers if each.id == server), None)

    def drain(self) -> None:
        """Have the others send nothing here any more, from the next beat on."""
        self._wanted_state = "draining"
        if self._sitting is not None:
            self._sitting.servers.state = "draining"

    def tell_load(self, cpu: float, memory: float) -> None:
        """Have the others know, with the next beat, what shares of its cores and its memory for vectors are in use."""
        if self._sitting is not None:
            self._sitting.servers.load = cpu, memory

    async def be_heard(self) -> None:
        """Returns once every other server has had the time to hear how this one is: its beat, and theirs after it."""
        await asyncio.sleep(2 * self._lease_s / BEATS_A_LEASE)

    async def join(self) -> None:
        """Raises ``LogUnavailable``."""
        loop = asyncio.get_running_loop()
        sitting = _Sitting(self, loop, f"{self._card.name}-{secrets.token_hex(6)}")
        try:
            # To its end, also where it is cancelled: its connection would be opened after ``end`` otherwise.
            await run_to_completion(asyncio.to_thread(sitting.begin, self._card, self._wanted_state))
        except BaseException:
            await asyncio.to_thread(sitting.end)
            raise
        self._sitting = sitting
        self._note_beat(sitting, sitting.heard)

    async def leave(self) -> None:
        """With every vault closed: what it holds is free at once. Where the database is away it ends with the lease."""
        self._is_leaving = True
        if self._rejoining is not None:
            self._rejoining.cancel()
            await asyncio.gather(self._rejoining, return_exceptions=True)
        sitting, self._sitting = self._sitting, None
        if sitting is not None:
            await asyncio.to_thread(sitting.end)
            with contextlib.suppress(StrongroomError):
                await asyncio.to_thread(sitting.servers.leave, sitting.seat.id)

    def _note_beat(self, sitting: _Sitting, servers: list[ServerBeat]) -> None:
        if sitting is not self._sitting:
            return
        self.servers = tuple(servers)
        self._observer.on_beat(sitting.seat.lease.left_s())
        self._observer.on_servers(sum(server.state == "serving" for server in servers))
        for listener in self.on_beat:
            listener()

    def _note_failed_beat(self) -> None:
        self._observer.on_beat_failed()

    def _note_removal(self, sitting: _Sitting) -> None:
        if sitting is not self._sitting or self._is_leaving:
            return
        self._sitting, self.servers = None, ()
        self._observer.on_removed()
        for listener in self.on_removed:
            listener()
        self._rejoining = asyncio.create_task(self._rejoin(sitting), name="rejoin-cluster")

    async def _rejoin(self, before: _Sitting) -> None:
        await asyncio.to_thread(before.end)
        pause = REJOIN_S
        while True:
            try:
                await self.join()
            except StrongroomError:
                await asyncio.sleep(pause)
                pause = min(2 * pause, REJOIN_MOST_S)
            else:
                return


class _Sitting:
    """From joining to being removed or leaving. A ``BeatLedger`` that passes on what it hears."""

    def __init__(self, owner: Membership, loop: asyncio.AbstractEventLoop, server: str) -> None:
        self._owner = owner
        self._loop = loop
        lease = HeldLease(owner._lease_s)
        self.seat = ServerSeat(server, lease)
        self.servers = Servers(owner._connections, lease.lease_s)
        self.heard: list[ServerBeat] = []
        """All servers, with the last beat."""
        self._heartbeat = Heartbeat(server, self, lease, self._tell_removal, self._tell_failure)

    def begin(self, card: ServerCard, state: ServerState) -> None:
        """Blocking."""
        self.servers.state, self.servers.weight = state, card.weight
        self.servers.join(self.seat.id, card.address, card.version, card.name, card.certificate)
        self._heartbeat.start()

    def end(self) -> None:
        """Blocking: returns when no beat is under way."""
        self._heartbeat.stop()
        self.servers.close()

    def beat(self, server: str) -> list[ServerBeat]:
        """``BeatLedger``'s."""
        self.heard = heard = self.servers.beat(server)
        self._tell(self._owner._note_beat, self, heard)
        return heard

    def remove(self, silent: ServerBeat) -> bool:
        """``BeatLedger``'s."""
        return self.servers.remove(silent)

    def _tell_removal(self) -> None:
        self._tell(self._owner._note_removal, self)

    def _tell_failure(self, _failure: StrongroomError) -> None:
        self._tell(self._owner._note_failed_beat)

    def _tell(self, listener: Callable[..., None], *told: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed: the process ends
            self._loop.call_soon_threadsafe(listener, *told)

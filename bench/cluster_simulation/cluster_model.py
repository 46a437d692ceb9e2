"""Calls through a cluster: any server takes one, passes it on to the holder of its vault, and that one answers.

A server is one process: Python's lock is a station with one place, its cores are one with as many places as it has. A
server that died is noticed after a lease; its vaults are restored by the others as they are asked for.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial

from bench.cluster_simulation.events import Clock, Event, GroupedAppends, Station
from bench.cluster_simulation.inputs import FAIL_OVER_S, LEASE_S, WATCH_S, WRITES, ServiceTimes
from bench.cluster_simulation.vaults import Vaults, preferred

DATABASE_CORES = 2


@dataclass(frozen=True, slots=True)
class Loss:
    """Servers that die at ``at``; and whether PostgreSQL's primary goes with them."""

    at: float
    servers: tuple[int, ...]
    takes_database: bool = False


@dataclass(slots=True)
class SimulatedCall:
    """When it came, and seconds until its answer. ``was_lost``: its server died, or what it needs was away."""

    vault: int
    writes: bool
    came: float
    took: float = 0.0
    was_lost: bool = False


@dataclass
class ServerModel:
    interpreter: Station
    cores: Station
    is_alive: bool = True


@dataclass
class Outcome:
    answered: list[SimulatedCall] = field(default_factory=list)
    asked_at: dict[int, float] = field(default_factory=dict)
    back_at: dict[int, float] = field(default_factory=dict)
    """Of each lost vault that somebody called: when it was first called, and when it was there again."""


class ClusterModel:
    """One run. The same ``seed`` gives the same run."""

    def __init__(self, vaults: Vaults, servers: int, cores: int, times: ServiceTimes, seed: int) -> None:
        self.clock = Clock()
        self.outcome = Outcome()
        self._vaults, self._times = vaults, times
        self._chance = random.Random(seed)
        station = partial(Station, self.clock)
        self.servers = [ServerModel(station(1), station(cores)) for _ in range(servers)]
        self.database = station(DATABASE_CORES)
        self._holder: dict[int, int] = {}
        self._away: dict[int, list[Event]] = {}
        """Vaults that are being restored, and who waits for them."""
        self._appends: dict[int, GroupedAppends] = {}
        self._database_back, self._lease_ends = 0.0, float("inf")
        self._removed_at = 0.0

    def run(self, agents: int, pause_s: float, seconds: float, loss: Loss | None = None) -> Outcome:
        """Each agent calls, waits for the answer, does something else for ``pause_s`` in the mean, and calls again;
        for that long, and until the last one is answered."""
        self._pause_s, self._until = pause_s, seconds
        for _ in range(agents):
            self._pause()
        if loss is not None:
            self.clock.after(loss.at, lambda: self._lose(loss))
        self.clock.run()
        return self.outcome

    def _pause(self) -> None:
        self.clock.after(self._chance.expovariate(1 / self._pause_s), self._come)

    def _come(self) -> None:
        if self.clock.now < self._until:
            vault, writes = self._vaults.draw(self._chance), self._chance.random() < WRITES
            self._enter(SimulatedCall(vault, writes, self.clock.now))

    def _enter(self, call: SimulatedCall) -> None:
        entered = self._chance.choice([number for number, each in enumerate(self.servers) if each.is_alive])
        if entered == self._holder_of(call.vault):
            self._serve(call)
        else:
            passing = self.servers[entered].interpreter
            passing.serve(self._times.forwarded, lambda: self._serve(call))

    def _serve(self, call: SimulatedCall) -> None:
        """By the holder, once it has the vault."""
        number = self._holder_of(call.vault)
        server = self.servers[number]
        if not server.is_alive:
            self._take_over(call.vault)
        if call.vault in self._away:
            call.was_lost = True
            self._away[call.vault].append(lambda: self._serve(call))
            return
        cost = self._times.remember if call.writes else self._times.recall

        def answer() -> None:
            if not server.is_alive:  # died with the call in it: its client asks again
                call.was_lost = True
                self._enter(call)
            elif call.writes:
                self._append(call)
            else:
                self._answer(call)

        server.interpreter.serve(cost.interpreter, lambda: server.cores.serve(cost.beside, answer))

    def _append(self, call: SimulatedCall) -> None:
        if call.vault not in self._appends:
            times = self._times
            self._appends[call.vault] = GroupedAppends(self.clock, self.database, times.append_processor, times.append)
        appends = self._appends[call.vault]
        away_s = max(0.0, self._database_back - self.clock.now)
        call.was_lost |= away_s > 0
        self.clock.after(away_s, lambda: appends.append(lambda: self._answer(call)))

    def _answer(self, call: SimulatedCall) -> None:
        """A read is answered without PostgreSQL for a lease, and then no more."""
        if self._lease_ends < self.clock.now < self._database_back:
            call.was_lost = True
            self.clock.after(self._database_back - self.clock.now, lambda: self._answer(call))
            return
        call.took = self.clock.now - call.came
        self.outcome.answered.append(call)
        self._pause()

    def _holder_of(self, vault: int) -> int:
        if vault not in self._holder:
            self._holder[vault] = preferred(vault, self._alive())
        return self._holder[vault]

    def _alive(self) -> list[int]:
        return [number for number, each in enumerate(self.servers) if each.is_alive]

    def _lose(self, loss: Loss) -> None:
        for vault in range(len(self._vaults.passages)):
            self._holder_of(vault)
        for number in loss.servers:
            self.servers[number].is_alive = False
        self._removed_at = self.clock.now + self._chance.uniform(*WATCH_S)
        if loss.takes_database:
            self._database_back, self._lease_ends = self.clock.now + FAIL_OVER_S, self.clock.now + LEASE_S
            self._removed_at = max(self._removed_at, self._database_back + WATCH_S[1])  # all begin their watch anew

    def _take_over(self, vault: int) -> None:
        """By whom it belongs to now, as soon as its holder is known to be gone."""
        number = self._holder[vault] = preferred(vault, self._alive())
        self._away[vault] = []
        self.outcome.asked_at[vault] = self.clock.now
        opening, server = self._times.opening, self.servers[number]
        seconds = opening.beside + self._times.restored_passage * self._vaults.passages[vault]

        def is_back() -> None:
            self.outcome.back_at[vault] = self.clock.now
            for waiting in self._away.pop(vault):
                waiting()

        def restored() -> None:
            server.interpreter.serve(opening.interpreter, is_back)

        wait = max(0.0, self._removed_at - self.clock.now)
        self.clock.after(wait, lambda: server.cores.serve(seconds, restored))

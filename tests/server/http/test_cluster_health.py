"""Whether callers should be sent to a server that is one of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ops.health import HealthRegistry
from server.http.cluster_health import register_cluster
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.held_vaults import HeldVaults


class SetClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Seat:
    lease: HeldLease


@dataclass
class ListedServer:
    state: str = "serving"


@dataclass
class Member:
    seat: Seat | None
    state: str = "serving"
    servers: tuple[ListedServer, ...] = (ListedServer(), ListedServer(), ListedServer("command"))


@dataclass
class Held:
    membership: Member
    count: int = 7


def server() -> tuple[HealthRegistry, Member, SetClock]:
    clock = SetClock()
    lease = HeldLease(4.0, clock)
    lease.renew(clock.now)
    member, health = Member(Seat(lease)), HealthRegistry()
    register_cluster(health, cast(HeldVaults, Held(member)), "alpha")
    return health, member, clock


async def test_a_server_with_its_lease_is_ready_and_tells_what_it_holds() -> None:
    health, _, clock = server()
    clock.now = 1.0
    told = await health.ready()
    assert (told.status, dict(told.parts)) == ("ready", {"lease": "ok", "database": "ok"})
    assert told.details == {
        "cluster": {"server": "alpha", "state": "serving", "servers": 2, "vaults": 7, "lease_left_s": 3.0}
    }


async def test_a_database_that_does_not_answer_is_told_before_the_lease_is_over() -> None:
    health, _, clock = server()
    clock.now = 2.5
    told = await health.ready()
    assert (told.status, told.serving, told.parts["database"]) == ("degraded", True, "stale")


async def test_a_server_without_its_lease_is_not_ready() -> None:
    health, _, clock = server()
    clock.now = 4.5
    told = await health.ready()
    assert (told.status, told.parts["lease"]) == ("unavailable", "failed")


async def test_a_server_that_was_taken_for_dead_is_not_ready_until_it_is_back() -> None:
    health, member, _ = server()
    member.seat = None
    told = await health.ready()
    assert (told.status, told.serving) == ("unavailable", False)
    assert told.details["cluster"]["lease_left_s"] == 0


async def test_a_server_that_hands_its_vaults_over_is_not_ready() -> None:
    health, member, _ = server()
    member.state = "draining"
    told = await health.ready()
    assert (told.status, told.serving) == ("draining", False)

"""Limits over time hold for all servers together. Covers auth.shared_counts, vaults.cluster.postgres.rate_counts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from auth.people.attempts import ACCOUNT, Attempts
from auth.plans import PlanBound
from auth.principal import LOCAL, Principal, local_names
from auth.quotas import Quotas
from auth.settings import LimitSettings
from server.cluster.shared_rates import QUIET_S, STEPS, SharedRates
from tests.auth.plans import plans_of
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.rate_counts import RateCount, RateCounts
from vaults.errors import Overloaded, RateLimited

ALICE = Principal("alice", LOCAL, local_names("alice"))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class OneServer:
    """Its counters, and how many calls of alice it let in."""

    def __init__(self, connections: Connections, limits: LimitSettings, clock: Clock) -> None:
        self.table = RateCounts(connections)
        self.shared = SharedRates(self.table, clock)
        self.quotas = Quotas(limits, plans_of(limits), clock=clock, shared=self.shared)
        self.attempts = Attempts(clock, self.shared)

    def calls(self, count: int, vault: str = "v1") -> int:
        """How many of so many calls are let in."""
        let_in = 0
        for _ in range(count):
            with contextlib.suppress(RateLimited), self.quotas.admit(ALICE, vault):
                let_in += 1
        return let_in


class Installation:
    def __init__(self, connections: Connections, servers: int, **limits: int) -> None:
        self.clock = Clock()
        self.servers = [OneServer(connections, LimitSettings(**limits), self.clock) for _ in range(servers)]

    async def exchange(self) -> None:
        """Everybody tells, then everybody knows."""
        for _ in range(2):
            for each in self.servers:
                await each.shared.exchange_once()


async def test_a_callers_rate_counts_over_all_servers(connections: Connections) -> None:
    installation = Installation(connections, 2, calls_per_minute=10)
    one, other = installation.servers
    assert one.calls(6) == 6
    await installation.exchange()
    assert other.calls(9) == 4
    await installation.exchange()
    assert one.calls(5) == 0
    assert one.quotas.calls_in_window(_bound(10), ALICE, "v1") == 10
    installation.clock.now += 61
    assert one.calls(20) == 10


async def test_who_tries_again_at_each_server_in_turn_gets_the_whole_rate_all_the_same(
    connections: Connections,
) -> None:
    installation, let_in = Installation(connections, 2, calls_per_minute=12), 0
    for _ in range(5 * 12):  # five minutes, a look at both servers each five seconds
        for each in installation.servers:
            let_in += each.calls(3)
        await installation.exchange()
        installation.clock.now += 5
    assert let_in >= 4 * 12


@pytest.mark.parametrize("servers", [2, 3, 5])
async def test_a_limit_is_passed_by_no_more_than_is_published(connections: Connections, servers: int) -> None:
    limit, between = 200, 20
    installation, let_in = Installation(connections, servers, calls_per_minute=limit), 0
    for _ in range(40):
        for each in installation.servers:
            let_in += each.calls(between)
        await installation.exchange()
    assert limit <= let_in <= limit + (servers - 1) * (limit // STEPS + between)


async def test_calls_at_once_count_over_all_servers_and_end_with_the_calls(connections: Connections) -> None:
    installation = Installation(connections, 2, in_flight=3)
    one, other = installation.servers
    with one.quotas.admit(ALICE, "v1"), one.quotas.admit(ALICE, "v1"):
        await installation.exchange()
        for _ in range(4):  # longer than it is believed at once: it is told again
            installation.clock.now += 6
            await installation.exchange()
        with other.quotas.admit(ALICE, "v1"), pytest.raises(Overloaded):
            other.quotas.admit(ALICE, "v1")
    await installation.exchange()
    with other.quotas.admit(ALICE, "v1"), other.quotas.admit(ALICE, "v1"), other.quotas.admit(ALICE, "v1"):
        pass


async def test_what_ran_on_a_server_that_died_is_soon_forgotten(connections: Connections) -> None:
    installation = Installation(connections, 2, in_flight=1)
    one, other = installation.servers
    slot = one.quotas.admit(ALICE, "v1")
    await installation.exchange()
    with pytest.raises(Overloaded):
        other.quotas.admit(ALICE, "v1")
    installation.clock.now += 11
    with other.quotas.admit(ALICE, "v1"):
        pass
    slot.__exit__(None, None, None)


async def test_what_was_counted_before_a_restart_goes_on_counting(connections: Connections) -> None:
    installation = Installation(connections, 1, calls_per_minute=10)
    assert installation.servers[0].calls(10) == 10
    await installation.exchange()
    again = OneServer(connections, LimitSettings(calls_per_minute=10), installation.clock)
    again.calls(0)
    await again.shared.exchange_once()
    assert again.calls(5) == 0


async def test_tries_of_a_password_count_over_all_servers_until_it_was_right(connections: Connections) -> None:
    installation = Installation(connections, 2)
    one, other = installation.servers
    for _ in range(ACCOUNT.count):
        assert not one.attempts.wait(ACCOUNT, "anna")
    await installation.exchange()
    assert other.attempts.wait(ACCOUNT, "anna") > 0
    assert not other.attempts.wait(ACCOUNT, "bert")
    one.attempts.forgive(ACCOUNT, "anna")
    await installation.exchange()
    assert not other.attempts.wait(ACCOUNT, "anna")


async def test_without_postgresql_each_server_counts_alone_and_tells_it_afterwards(connections: Connections) -> None:
    installation = Installation(connections, 2, calls_per_minute=10)
    one, other = installation.servers
    exchange = _Away(one.table)
    one.shared._exchange = exchange
    assert one.calls(8) == 8
    with pytest.raises(LogUnavailable):
        await one.shared.exchange_once()
    assert one.calls(8) == 2
    exchange.away = False
    await installation.exchange()
    assert other.calls(8) == 0


async def test_whoever_is_far_from_a_limit_costs_no_row(connections: Connections) -> None:
    installation = Installation(connections, 1)
    installation.servers[0].calls(500)
    await installation.exchange()
    with connections.use() as connection:
        assert connection.execute("SELECT count(*) FROM strongroom.rate_counts").fetchone() == (0,)


async def test_old_counts_are_swept_out(connections: Connections) -> None:
    table, other = RateCounts(connections), RateCounts(connections)
    table.exchange([RateCount("", b"gone", 5, -1.0), RateCount("", b"there", 5, 60.0)])
    table.sweep()
    assert [each.key for each in other.exchange([])] == [b"there"]


async def test_while_nobody_calls_nobody_is_asked() -> None:
    clock, exchange = Clock(), _Counting()
    shared = SharedRates(exchange, clock, share_s=0)
    counts = shared.join("rates", lambda _: (1, 60.0))
    shared.start()
    counts.count("alice", 10)
    await exchange.ask_again()
    await exchange.ask_again()
    clock.now += QUIET_S + 1
    await exchange.ask_again()
    if shared._called.is_set():  # that one was under way
        await exchange.ask_again()
    assert not shared._called.is_set()
    counts.count("alice", 10)
    await exchange.ask_again()
    await shared.close()


def _bound(limit: int) -> PlanBound:
    return PlanBound("calls_per_minute", "principal", "unlimited", limit)


class _Counting:
    """An exchange in which nobody else is; made on the event loop."""

    def __init__(self) -> None:
        self._loop, self._asked = asyncio.get_running_loop(), asyncio.Event()

    def exchange(self, own: Sequence[RateCount]) -> list[RateCount]:
        self._loop.call_soon_threadsafe(self._asked.set)
        return []

    async def ask_again(self) -> None:
        """Return once it was asked."""
        self._asked.clear()
        await self._asked.wait()

    def sweep(self) -> None:
        pass


class _Away:
    """An exchange that is away at first."""

    def __init__(self, table: RateCounts) -> None:
        self.away, self._table = True, table

    def exchange(self, own: Sequence[RateCount]) -> list[RateCount]:
        if self.away:
            raise LogUnavailable
        return self._table.exchange(own)

    def sweep(self) -> None:
        self._table.sweep()

"""Who gets a connection when there are not enough: the table alone, then real sockets."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from server.http.connection_limiter import ConnectionLimiter
from tests.server.http.wired import ADMIT, GET, Client, Wire, wired


@dataclass(eq=False)
class Place:
    admitted: bool = False
    closed: bool = False

    def close_idle(self) -> None:
        self.closed = True


def entered(crowd: ConnectionLimiter, address: str | None, count: int, *, working: bool = False) -> list[Place]:
    places = [Place() for _ in range(count)]
    for place in places:
        assert crowd.enter(place, address)
        if working:
            crowd.work(place)
    return places


def test_the_connection_idle_for_longest_gives_way() -> None:
    crowd = ConnectionLimiter(4, 4)
    one, two, three, _ = entered(crowd, "1.1.1.1", 4)
    crowd.work(one)
    crowd.rest(one)
    crowd.work(two)
    entered(crowd, "1.1.1.1", 1)
    assert [place.closed for place in (one, two, three)] == [False, False, True]
    entered(crowd, "1.1.1.1", 1)


def test_callers_that_were_let_in_give_way_after_strangers() -> None:
    crowd = ConnectionLimiter(3, 3)
    caller, *strangers = entered(crowd, "1.1.1.1", 3)
    crowd.work(caller)
    caller.admitted = True
    crowd.rest(caller)
    for _ in range(20):
        entered(crowd, "1.1.1.1", 1)
    assert all(place.closed for place in strangers)
    assert not caller.closed


def test_the_address_with_most_connections_gives_way_first() -> None:
    crowd = ConnectionLimiter(10, 10)
    (lonely,) = entered(crowd, "2.2.2.2", 1)
    crowded = entered(crowd, "1.1.1.1", 9)
    entered(crowd, "3.3.3.3", 4)
    assert not lonely.closed
    assert sum(place.closed for place in crowded) == 4


def test_an_address_at_its_share_closes_its_own_and_is_turned_away_when_all_work() -> None:
    crowd = ConnectionLimiter(10, 3)
    (other,) = entered(crowd, "2.2.2.2", 1)
    busy = entered(crowd, "1.1.1.1", 3, working=True)
    assert not crowd.enter(Place(), "1.1.1.1")
    assert crowd.enter(Place(), "2.2.2.2")
    crowd.rest(busy[0])
    assert crowd.enter(Place(), "1.1.1.1")
    assert busy[0].closed
    assert not other.closed


def test_a_full_house_of_working_connections_turns_newcomers_away() -> None:
    crowd = ConnectionLimiter(4, 4)
    first, *_ = entered(crowd, "1.1.1.1", 4, working=True)
    assert not crowd.enter(Place(), "2.2.2.2")
    crowd.leave(first)
    crowd.leave(first)
    assert crowd.enter(Place(), "2.2.2.2")


def test_a_trusted_proxy_and_a_local_socket_have_no_share() -> None:
    crowd = ConnectionLimiter(10, 2, ["10.0.0.0/8", "fd00::/8"])
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", None):
        for place in entered(crowd, address, 10, working=True):
            crowd.leave(place)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:1.2.3.4", "1.2.3.4", True),
        ("1.2.3.4", "1.2.3.5", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_an_address_is_a_whole_network_of_ipv6_and_one_of_ipv4(one: str, other: str, same: bool) -> None:
    crowd = ConnectionLimiter(10, 1)
    entered(crowd, one, 1, working=True)
    assert crowd.enter(Place(), other) is not same


def test_whatever_happens_no_bound_is_passed_and_nothing_is_left_behind() -> None:
    chance = random.Random(7)
    crowd, open_ = ConnectionLimiter(40, 15), list[tuple[Place, str]]()
    for _ in range(20_000):
        open_ = [(place, address) for place, address in open_ if not place.closed]
        move = chance.random()
        if move < 0.5 or not open_:
            place, address = Place(), f"1.1.1.{chance.randrange(5)}"
            if crowd.enter(place, address):
                open_.append((place, address))
        else:
            place, _ = chance.choice(open_)
            place.admitted = place.admitted or move > 0.97
            act = chance.choice([crowd.work, crowd.rest, crowd.leave])
            act(place)
            if act == crowd.leave:
                open_ = [each for each in open_ if each[0] is not place]
        living = [address for place, address in open_ if not place.closed]
        assert len(living) <= 40
        assert all(living.count(address) <= 15 for address in set(living))
    for place, _ in open_:
        crowd.leave(place)
    assert not crowd._peers
    assert not crowd._of


# --- with sockets


@dataclass
class Crowding:
    """Idle connections of one address, the way a stranger without a token can have them."""

    wire: Wire
    clients: list[Client] = field(default_factory=list)

    async def add(self, count: int, source: str = "127.0.0.1") -> None:
        for number in range(count):
            client = await self.wire.open(source=source)
            if number % 2:  # half were answered once and kept alive, half never said a word
                await client.send(GET)
                await client.answer()
            self.clients.append(client)

    def close(self) -> None:
        for client in self.clients:
            client.close()


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
async def test_a_caller_gets_in_beside_hundreds_of_idle_connections_of_one_address(source: str) -> None:
    async with wired(connections=40) as wire:
        caller = await wire.open(source=source)
        await caller.send(ADMIT)
        assert await caller.answer() == 200
        crowd = Crowding(wire)
        await crowd.add(300)
        await caller.send(GET)  # kept alive all the while
        assert await caller.answer() == 200
        newcomer = await wire.open(source=source)
        await newcomer.send(ADMIT)
        assert await newcomer.answer() == 200
        for each in (caller, newcomer):
            each.close()
        crowd.close()
    assert set(wire.reasons) == {"crowded"}
    assert {line.address for line in wire.lines} == {"127.0.0.1"}


async def test_an_address_whose_connections_all_work_is_turned_away_and_others_are_not() -> None:
    async with wired(connections=20, connections_per_address=5) as wire:
        working = await wire.keep_busy(5)
        assert (await wire.ask(GET)).startswith(b"HTTP/1.1 503")
        other = await wire.open(source="127.0.0.2")
        await other.send(GET)
        assert await other.answer() == 200
        wire.gate.set()
        assert [await client.answer() for client in working] == [200] * 5
        for client in (*working, other):
            client.close()
    assert wire.reasons == ["connections"]


async def test_behind_a_trusted_proxy_one_address_may_have_them_all() -> None:
    async with wired(connections=20, connections_per_address=5, trusted_proxies=("127.0.0.1",)) as wire:
        working = await wire.keep_busy(20)
        wire.gate.set()
        assert [await client.answer() for client in working] == [200] * 20
        for client in working:
            client.close()
    assert wire.reasons == []

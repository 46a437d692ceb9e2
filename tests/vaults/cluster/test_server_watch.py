"""A server is silent where its beat stood still for a whole lease by the clock of who watches."""

from __future__ import annotations

import pytest

from vaults.cluster.server_watch import SLACK, ServerBeat, ServerWatch

A1, A2, B1 = (ServerBeat(name, "address", "1", beat, 3.0) for name, beat in (("a", 1), ("a", 2), ("b", 1)))
LEASE_S = 3.0
OVER_S = LEASE_S * SLACK


class Hand:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def look(watch: ServerWatch, clock: Hand, seconds: float, *beats: ServerBeat) -> None:
    """Time goes on by ``seconds``, and all of it the watcher looks, and sees these."""
    until = clock.now + seconds
    while clock.now < until:
        clock.now = min(until, clock.now + LEASE_S / 4)
        watch.note(beats)


def test_a_beat_that_stands_still_for_a_lease_is_silent() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1, B1])
    look(watch, clock, LEASE_S, A1, B1)
    assert watch.silent() == []  # another machine's clock may be slower
    look(watch, clock, OVER_S - LEASE_S, A1, B1)
    assert watch.silent() == [A1, B1]


def test_a_beat_that_goes_on_begins_anew() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1, B1])
    look(watch, clock, OVER_S, A2, B1)
    assert watch.silent() == [B1]
    look(watch, clock, OVER_S, A2, B1)
    assert watch.silent() == [A2, B1]


def test_each_server_is_watched_by_its_own_lease() -> None:
    clock, long = Hand(), ServerBeat("a", "address", "1", 1, 2 * LEASE_S)
    watch = ServerWatch(LEASE_S, clock)
    watch.note([long, B1])
    look(watch, clock, OVER_S, long, B1)
    assert watch.silent() == [B1]
    look(watch, clock, OVER_S, long, B1)
    assert watch.silent() == [long, B1]


def test_a_watcher_that_could_not_look_for_a_while_begins_anew() -> None:
    """While PostgreSQL is away nobody beats: the first one back removes nobody for that."""
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1])
    clock.now += 3600.0
    watch.note([A1])
    assert watch.silent() == []
    look(watch, clock, OVER_S, A1)
    assert watch.silent() == [A1]


def test_who_is_gone_is_forgotten() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1, B1])
    look(watch, clock, OVER_S, B1)
    assert watch.silent() == [B1]


def test_it_is_known_when_the_next_one_is_silent() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    assert watch.next_silent_s() == 0.0
    watch.note([A1])
    clock.now += 1.0
    watch.note([A1, B1])
    assert watch.next_silent_s() == pytest.approx(OVER_S - 1.0)
    look(watch, clock, OVER_S, A1, B1)
    assert watch.next_silent_s() == 0.0

"""A server is silent where its beat stood still for a whole lease by the clock of who watches."""

from __future__ import annotations

from vaults.cluster.server_watch import SLACK, ServerBeat, ServerWatch

A1, A2, B1 = (ServerBeat(name, "address", "1", beat) for name, beat in (("a", 1), ("a", 2), ("b", 1)))
LEASE_S = 3.0
OVER_S = LEASE_S * SLACK


class Hand:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_a_beat_that_stands_still_for_a_lease_is_silent() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1, B1])
    clock.now += LEASE_S
    watch.note([A1, B1])
    assert watch.silent() == []  # another machine's clock may be slower
    clock.now = 50.0 + OVER_S
    assert watch.silent() == [A1, B1]


def test_a_beat_that_goes_on_begins_anew() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1, B1])
    clock.now += 2.0
    watch.note([A2, B1])
    clock.now = 50.0 + OVER_S
    watch.note([A2, B1])
    assert watch.silent() == [B1]
    clock.now = 52.0 + OVER_S
    assert watch.silent() == [A2, B1]


def test_a_watcher_that_was_stopped_has_seen_nothing_meanwhile() -> None:
    """It was not looking: the first look after it counts, and what stood still before and after may have moved."""
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1])
    clock.now += 3600.0
    watch.note([A2])
    assert watch.silent() == []


def test_who_is_gone_is_forgotten() -> None:
    clock = Hand()
    watch = ServerWatch(LEASE_S, clock)
    watch.note([A1, B1])
    watch.note([B1])
    clock.now += OVER_S
    assert watch.silent() == [B1]

"""The thread that keeps a server's lease, over a ledger that fails as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.work import PATIENCE_S
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.heartbeat import BEATS_A_LEASE, Heartbeat
from vaults.cluster.held_lease import HeldLease, elapsed_s
from vaults.cluster.server_watch import SLACK, ServerBeat
from vaults.errors import StrongroomError

LEASE_S = 0.2


class Ledger:
    def __init__(self) -> None:
        self.beats, self.failure = 0, None
        self.removed: list[ServerBeat] = []
        self.others = [ServerBeat("other", "address", "1", 7, LEASE_S)]

    failure: StrongroomError | None

    def beat(self, server: str) -> list[ServerBeat]:
        self.beats += 1
        if self.failure is not None:
            raise self.failure
        return [ServerBeat(server, "address", "1", self.beats, LEASE_S), *self.others]

    def remove(self, silent: ServerBeat) -> bool:
        self.removed.append(silent)
        self.others = []
        return True


class Watched:
    """A heartbeat, and what it told."""

    def __init__(self, lease_s: float = LEASE_S, clock: Callable[[], float] = elapsed_s) -> None:
        self.ledger, self.lease = Ledger(), HeldLease(lease_s, clock)
        self.lost, self.failed = threading.Event(), threading.Event()
        self.heartbeat = Heartbeat("own", self.ledger, self.lease, self.lost.set, lambda failure: self.failed.set())


def test_the_first_beat_is_made_before_start_returns() -> None:
    watched = Watched(3600.0)
    watched.heartbeat.start()
    watched.heartbeat.stop()
    watched.lease.require_held()
    assert watched.ledger.beats == 1


def test_a_start_that_cannot_beat_says_so() -> None:
    watched = Watched()
    watched.ledger.failure = LogUnavailable()
    with pytest.raises(LogUnavailable):
        watched.heartbeat.start()
    watched.heartbeat.stop()


def test_a_failed_beat_is_told_and_tried_again() -> None:
    watched = Watched()
    watched.heartbeat.start()
    watched.ledger.failure = LogUnavailable()
    assert watched.failed.wait(PATIENCE_S)
    watched.ledger.failure = None
    until = watched.ledger.beats + 2
    while watched.ledger.beats < until:
        pass
    watched.heartbeat.stop()
    assert not watched.lease.is_lost


def test_a_server_that_was_removed_has_lost_its_lease_for_ever() -> None:
    watched = Watched()
    watched.heartbeat.start()
    watched.ledger.failure = Fenced()
    assert watched.lost.wait(PATIENCE_S)
    watched.heartbeat.stop()
    assert watched.lease.is_lost


def test_a_silent_server_is_removed_and_this_one_never() -> None:
    watched = Watched()
    watched.heartbeat.start()
    while not watched.ledger.removed:
        pass
    watched.heartbeat.stop()
    assert {each.id for each in watched.ledger.removed} == {"other"}


def test_the_next_look_is_when_a_silent_server_s_time_is_over_and_who_is_left_is_heard_at_once() -> None:
    now = [50.0]
    watched = Watched(clock=lambda: now[0])
    beats, over = LEASE_S / BEATS_A_LEASE, 50.0 + LEASE_S * SLACK
    watched.heartbeat.beat_once()
    assert watched.heartbeat.pause_s() == beats
    while now[0] + beats < over:
        now[0] += beats
        watched.heartbeat.beat_once()
    assert watched.heartbeat.pause_s() == pytest.approx(max(over - now[0], beats / 4))
    now[0], before = over + beats / 4, watched.ledger.beats
    watched.heartbeat.beat_once()
    assert [each.id for each in watched.ledger.removed] == ["other"]
    assert watched.ledger.beats == before + 2

"""The lease of this side: too short rather than too long, whatever is done to clocks and processes."""

from __future__ import annotations

import time

import pytest

from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.held_lease import HeldLease, elapsed_s


class Hand:
    """A clock that goes when it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def lease(clock: Hand) -> HeldLease:
    return HeldLease(3.0, clock)


def test_nothing_is_held_before_the_first_heartbeat_was_heard(lease: HeldLease) -> None:
    with pytest.raises(LogUnavailable):
        lease.require_held()


def test_a_lease_is_counted_from_before_the_heartbeat_was_sent(lease: HeldLease, clock: Hand) -> None:
    sent_at = clock.now
    clock.now += 2.0  # so long the answer took
    lease.renew(sent_at)
    assert lease.left_s() == 1.0
    lease.require_held()
    clock.now += 1.0
    with pytest.raises(LogUnavailable):
        lease.require_held()


def test_an_answer_that_took_longer_than_the_lease_renews_nothing(lease: HeldLease, clock: Hand) -> None:
    sent_at = clock.now
    clock.now += 3.5
    lease.renew(sent_at)
    with pytest.raises(LogUnavailable):
        lease.require_held()


def test_answers_out_of_order_never_shorten_it(lease: HeldLease, clock: Hand) -> None:
    lease.renew(102.0)
    lease.renew(100.0)
    clock.now = 104.0
    lease.require_held()


def test_a_process_that_was_stopped_finds_it_over(lease: HeldLease, clock: Hand) -> None:
    lease.renew(clock.now)
    clock.now += 3600.0
    with pytest.raises(LogUnavailable):
        lease.require_held()


def test_a_lost_lease_is_never_held_again(lease: HeldLease, clock: Hand) -> None:
    lease.renew(clock.now)
    lease.lose()
    lease.renew(clock.now)
    assert lease.left_s() == 0.0
    with pytest.raises(Fenced):
        lease.require_held()


def test_the_clock_is_one_that_nobody_can_put(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on while the machine sleeps, and has nothing to do with the time of day."""
    before = elapsed_s()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert elapsed_s() >= before
    assert not hasattr(time, "CLOCK_BOOTTIME") or before >= time.clock_gettime(time.CLOCK_MONOTONIC) - 60

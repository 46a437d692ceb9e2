"""A read is answered after what it saw is in the log, and never by who may have lost the vault."""

from __future__ import annotations

import threading

import pytest

from tests.work import PATIENCE_S
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.read_gate import ReadGate
from vaults.errors import StrongroomError


@pytest.fixture
def lease() -> HeldLease:
    lease = HeldLease(3600.0)
    lease.renew(lease.clock())
    return lease


@pytest.fixture
def gate(lease: HeldLease) -> ReadGate:
    return ReadGate(lease)


class Reading(threading.Thread):
    """A read that waits to be answered."""

    def __init__(self, gate: ReadGate) -> None:
        super().__init__(daemon=True)
        self.gate, self.failure = gate, None
        self.start()

    failure: Exception | None

    def run(self) -> None:
        try:
            self.gate.wait_answerable()
        except StrongroomError as failure:
            self.failure = failure

    def waits(self) -> bool:
        self.join(0.05)
        return self.is_alive()


def test_a_read_is_answered_at_once_where_nothing_is_under_way(gate: ReadGate) -> None:
    gate.end(gate.begin())
    gate.wait_answerable()


def test_a_read_waits_for_the_append_of_what_it_may_have_seen(gate: ReadGate) -> None:
    number = gate.begin()
    reading = Reading(gate)
    assert reading.waits()
    gate.end(number)
    reading.join(PATIENCE_S)
    assert not reading.is_alive()
    assert reading.failure is None


def test_a_read_waits_for_no_write_that_began_after_it(gate: ReadGate) -> None:
    first = gate.begin()
    reading = Reading(gate)
    assert reading.waits()
    gate.begin()
    gate.end(first)
    reading.join(PATIENCE_S)
    assert not reading.is_alive()


def test_what_a_failed_append_left_here_is_shown_to_nobody(gate: ReadGate) -> None:
    gate.begin()
    reading = Reading(gate)
    assert reading.waits()
    gate.break_by(LogUnavailable())
    reading.join(PATIENCE_S)
    assert isinstance(reading.failure, LogUnavailable)
    with pytest.raises(LogUnavailable):
        gate.wait_answerable()
    with pytest.raises(LogUnavailable):
        gate.begin()


def test_a_read_that_waited_past_its_lease_is_refused(gate: ReadGate, lease: HeldLease) -> None:
    number = gate.begin()
    reading = Reading(gate)
    assert reading.waits()
    lease.lose()
    gate.end(number)
    reading.join(PATIENCE_S)
    assert isinstance(reading.failure, Fenced)

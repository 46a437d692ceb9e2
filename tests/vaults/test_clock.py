"""Time for what cannot be undone: a clock that is set ahead is not believed at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from vaults import clock

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86_400.0


class Machine:
    """A machine's two clocks: the one people set, and the one that only runs."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.running, self.set_ahead = 1000.0, 0.0
        machine = self

        class Told(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return BEGAN + timedelta(seconds=machine.running - 1000.0 + machine.set_ahead)

        patch.setattr(clock, "datetime", Told)
        patch.setattr(clock, "_uptime_s", lambda: machine.running)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_time_passes(machine: Machine) -> None:
    sure = clock.GuardedClock(BEGAN, 1000.0)
    machine.running += 90 * DAY
    assert sure.ago(0) == clock.now() == "2026-04-01T00:00:00.000Z"
    assert sure.ago(DAY) == "2026-03-31T00:00:00.000Z"


def test_a_clock_set_ahead_counts_once_it_has_been_so_for_a_day(machine: Machine) -> None:
    sure = clock.GuardedClock(BEGAN, 1000.0)
    machine.set_ahead = 366 * DAY
    machine.running += 60
    assert sure.ago(0) == "2026-01-01T00:01:00.000Z"
    machine.running += DAY - 1
    assert sure.ago(0) == "2026-01-02T00:00:59.000Z"
    machine.running += 1
    assert sure.ago(0) == clock.now() == "2027-01-03T00:01:00.000Z"


def test_a_clock_that_is_put_right_again_is_followed_and_its_next_jump_is_doubted_anew(machine: Machine) -> None:
    sure = clock.GuardedClock(BEGAN, 1000.0)
    for _ in range(3):
        machine.set_ahead = 366 * DAY
        assert sure.ago(0) < "2027"
        machine.running += DAY / 2
        machine.set_ahead = 0.0
        assert sure.ago(0) == clock.now()


def test_a_clock_that_gains_a_little_or_is_set_back_is_believed(machine: Machine) -> None:
    sure = clock.GuardedClock(BEGAN, 1000.0)
    for _ in range(100):
        machine.set_ahead += 30.0
        assert sure.ago(0) == clock.now()
    machine.set_ahead = -366 * DAY
    assert sure.ago(0) == clock.now() == "2024-12-31T00:00:00.000Z"

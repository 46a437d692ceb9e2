"""A clock that was put is not believed until it has gone as time does for a while."""

from __future__ import annotations

from dataclasses import dataclass

from ops.change_log.steady_clock import MAX_JUMP_S, PROBATION_S, SteadyClock


@dataclass
class Hands:
    at: float = 1_000_000.0
    put_by: float = 0.0

    def wall(self) -> float:
        return self.at + self.put_by

    def ticks(self) -> float:
        return self.at


def test_a_clock_is_believed_after_a_while() -> None:
    hands = Hands()
    clock = SteadyClock(hands.wall, hands.ticks)
    assert not clock.is_steady()
    hands.at += PROBATION_S - 1
    assert not clock.is_steady()
    hands.at += 1
    assert clock.is_steady()


def test_a_clock_that_jumps_is_not_believed_until_it_goes_steadily_again() -> None:
    hands = Hands()
    clock = SteadyClock(hands.wall, hands.ticks)
    clock.is_steady()
    hands.at += PROBATION_S
    for put_by in (86_400.0 * 365, 0.0, -86_400.0):
        hands.put_by = put_by
        assert not clock.is_steady()
        hands.at += PROBATION_S / 2
        assert not clock.is_steady()
    hands.at += PROBATION_S
    hands.put_by += MAX_JUMP_S / 2  # put right
    assert clock.is_steady()

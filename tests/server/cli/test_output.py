"""What is said of how long something takes."""

from __future__ import annotations

import pytest

from server.cli import output
from server.cli.output import PaceEstimate, format_duration


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_is_known_from_the_first_batch_on() -> None:
    clock = Clock()
    pace = PaceEstimate(clock)
    clock.now = 2.0
    assert pace.left_s(10, 100) == 18.0
    clock.now = 4.0
    assert pace.left_s(40, 100) == 6.0
    assert pace.left_s(100, 100) is None
    clock.now = 5.0
    assert pace.left_s(1, 3) == 2.0  # another stretch: its pace counts from the end of the one before
    assert pace.left_s(0, 0) is None


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (59, "59 s"), (120, "120 s"), (121, "3 min"), (7_300, "3 h")]
)
def test_lengths_of_time_are_rounded_up(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_a_long_run_says_at_its_first_batch_how_long_it_takes_and_a_short_one_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(output, "PaceEstimate", lambda: PaceEstimate(clock))
    for size, told in ((30, ""), (3_000, "importing: 0 %, 10 stored, about 10 min left\n")):
        clock.now = 0.0
        with output.progress("importing") as advance:
            clock.now = 2.0
            advance(10, size, "10 stored")
        assert capsys.readouterr().err == told

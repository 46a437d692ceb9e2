"""A budget a day, which no restart makes anew."""

from __future__ import annotations

from pathlib import Path

from vaults.transcripts.model_extraction.call_budget import CallBudget, estimate_tokens

DAY_S = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 20_000 * DAY_S + 60

    def __call__(self) -> float:
        return self.now


def budget(folder: Path, clock: Clock, calls: int = 2, tokens: int | None = None) -> CallBudget:
    return CallBudget(folder / "spent.db", calls, tokens, clock)


def test_calls_of_a_day_are_counted_over_restarts(tmp_path: Path) -> None:
    clock = Clock()
    assert [budget(tmp_path, clock).take(1) for _ in range(4)] == [True, True, False, False]
    clock.now += DAY_S - 61
    assert not budget(tmp_path, clock).take(1)
    clock.now += 1
    assert budget(tmp_path, clock).take(1)


def test_tokens_count_as_they_turned_out(tmp_path: Path) -> None:
    clock = Clock()
    one = budget(tmp_path, clock, calls=10, tokens=100)
    assert one.take(60)
    assert not one.take(60)
    one.correct(-30)
    assert one.take(60)
    one.correct(50)
    assert not one.take(1)


def test_a_refused_call_costs_nothing(tmp_path: Path) -> None:
    one = budget(tmp_path, Clock(), calls=2, tokens=100)
    assert not one.take(101)
    assert [one.take(1), one.take(1), one.take(1)] == [True, True, False]


def test_a_damaged_file_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "spent.db").write_bytes(b"nonsense" * 1_000)
    assert budget(tmp_path, Clock()).take(1)
    assert (tmp_path / "spent.db.damaged").exists()


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    budget(tmp_path, Clock()).take(1)
    assert (tmp_path / "spent.db").stat().st_mode & 0o077 == 0


def test_tokens_are_rather_thought_too_many() -> None:
    assert estimate_tokens("") == 1
    assert estimate_tokens("word " * 300) > 400

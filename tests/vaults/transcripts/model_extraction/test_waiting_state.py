"""Which conversations wait, and how long a model that failed is left alone.

Covers vaults.transcripts.state_file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vaults.transcripts.model_extraction.model_share import ModelShare, WindowResult
from vaults.transcripts.model_extraction.waiting_state import FIRST_PAUSE_S, LONGEST_PAUSE_S, WaitingState

NOW = 1_000_000.0


@pytest.fixture
def state(tmp_path: Path) -> Iterator[WaitingState]:
    with WaitingState(tmp_path / "extraction.db") as opened:
        yield opened


def due(state: WaitingState, now: float, quiet_s: float = 10.0) -> list[str]:
    return [each.transcript for each in state.due(now, quiet_s)]


def test_one_that_was_quiet_or_left_is_due(state: WaitingState) -> None:
    state.note("talking", "~/a", NOW, NOW, ended=False)
    state.note("left", "~/b", NOW, NOW, ended=True)
    state.note("old", "~/c", NOW - 500, NOW, ended=False)
    assert due(state, NOW) == ["left", "old"]
    assert due(state, NOW + 10) == ["left", "old", "talking"]
    state.note("talking", "~/a", NOW + 10, NOW + 10, ended=False)
    assert "talking" not in due(state, NOW + 10)


def test_a_clock_that_was_set_back_holds_nobody_up(state: WaitingState) -> None:
    state.note("a", "~/a", NOW, NOW, ended=False)
    assert due(state, NOW - 100_000) == ["a"]


def test_it_has_waited_since_the_first_turn_nobody_read(state: WaitingState) -> None:
    state.note("a", "~/a", NOW, NOW, ended=False)
    state.note("a", "~/a", NOW + 50, NOW + 50, ended=True)
    [one] = state.due(NOW + 50, 10)
    assert one.since == NOW
    state.settle("a", ModelShare(3, "mark", ((0, 3),)))
    assert due(state, NOW + 500) == []
    assert state.share_of("a") == ModelShare(3, "mark", ((0, 3),))
    state.note("a", "~/a", NOW + 90, NOW + 90, ended=True)
    assert [each.since for each in state.due(NOW + 90, 10)] == [NOW + 90]
    assert state.share_of("a").read_to == 3


def test_those_that_failed_come_last(state: WaitingState) -> None:
    for number, name in enumerate("abc"):
        state.note(name, "~/x", NOW, NOW + number, ended=True)
    state.fail("a", NOW)
    assert due(state, NOW + 500) == ["b", "c", "a"]
    state.confirm("a", ModelShare())
    assert due(state, NOW + 500) == ["a", "b", "c"]


def test_a_result_is_kept_until_it_is_confirmed(state: WaitingState) -> None:
    result = WindowResult(ModelShare(2, "m", ((0, 1),)), [{"external_id": "x"}], ["y"])
    state.note("a", "~/a", NOW, NOW, ended=True)
    state.keep_result("a", result)
    assert list(state.results()) == [("a", "~/a", result)]
    assert due(state, NOW) == []
    state.confirm("a", result.share)
    assert (list(state.results()), state.share_of("a")) == ([], result.share)
    state.keep_result("a", result)
    state.drop_result("a")
    assert list(state.results()) == []


def test_pauses_grow_up_to_an_hour_and_end_with_an_answer(state: WaitingState) -> None:
    assert not state.is_paused(NOW)
    for number in range(10):
        state.fail("a", NOW)
        pause = min(FIRST_PAUSE_S * 2**number, LONGEST_PAUSE_S)
        assert state.is_paused(NOW + pause - 1)
        assert not state.is_paused(NOW + pause)
    assert not state.is_paused(NOW - 1)  # the clock was set back
    state.succeed()
    assert not state.is_paused(NOW)


def test_a_damaged_file_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "waiting.db"
    path.write_bytes(b"nonsense" * 1_000)
    with WaitingState(path) as state:
        assert due(state, NOW) == []
    assert path.with_name("waiting.db.damaged").exists()

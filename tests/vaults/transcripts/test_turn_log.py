"""Turns in their order, and calls that wait for their outcome."""

from __future__ import annotations

import json

from vaults.transcripts.transcript import ToolUse
from vaults.transcripts.turn_log import TurnLog


def test_it_goes_on_from_its_state() -> None:
    log = TurnLog()
    log.say("user", "Hi", 1767600000)
    log.call("a", "run", {"command": "ls"})
    log.name("Title", 2)
    again = TurnLog(json.loads(json.dumps(log.to_state())))
    again.answer("a", "gate.py", failed=False)
    (turn,) = again.turns
    assert (turn.position, turn.tool) == (1, ToolUse("run", {"command": "ls"}, "gate.py", failed=False))
    conversation = again.to_conversation("c", "p", whole=False)
    assert conversation is not None
    assert (conversation.title, conversation.started_at) == ("Title", "2026-01-05T08:00:00.000Z")


def test_nothing_said_is_no_turn() -> None:
    log = TurnLog()
    for text in ("", "  \n", None, 3, "\0"):
        log.say("assistant", text)
    log.answer("unknown", "x", failed=None)
    assert log.turns == []
    assert log.to_conversation("c", "p", whole=True) is None


def test_more_calls_than_can_wait_end_without_outcome() -> None:
    log = TurnLog()
    for number in range(150):
        log.call(str(number), "run", {})
    assert [turn.position for turn in log.turns] == list(range(50))
    log.call("149", "again", {})
    assert len(log.turns) == 51


def test_the_first_thing_said_is_the_title_until_there_is_one() -> None:
    log = TurnLog()
    log.say("assistant", "Welcome")
    log.say("user", "First line\nsecond " + "x" * 500)
    log.say("user", "Another")
    assert log.facts["title"] == "First line"
    log.name("x" * 500)
    assert len(log.facts["title"]) == 200
    log.name("lower", 0)
    log.name(None, 9)
    assert log.facts["title"].startswith("xxx")


def test_times_that_are_none_are_left_out() -> None:
    log = TurnLog()
    for at in (None, "yesterday", -(10**30), {}, "2026-01-05T09:00:00Z", "2026-01-05T08:00:00Z"):
        log.say("user", "x", at)
    assert [turn.at is None for turn in log.turns] == [True, True, True, True, False, False]
    assert (log.facts["started_at"], log.facts["ended_at"]) == ("2026-01-05T09:00:00.000Z",) * 2

"""What is new in conversations that are written anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vaults.errors import InvalidArgument
from vaults.transcripts.rewritten import (
    leave_out_seen,
    load_json,
    load_json_or_none,
    parse_state,
    read_changed,
)
from vaults.transcripts.transcript import Conversation, ReadPlace, Turn

TALK = Conversation("c", "p", tuple(Turn(number, "user", f"text {number}") for number in range(3)), title="T")


def cut(count: int) -> Conversation:
    return replace(TALK, turns=TALK.turns[:count])


def test_turns_after_those_seen_are_new() -> None:
    new, seen = leave_out_seen(cut(2), None)
    assert new == replace(cut(2), whole=True)
    assert leave_out_seen(cut(2), seen)[0] is None
    new, seen = leave_out_seen(TALK, seen)
    assert new == replace(TALK, turns=TALK.turns[2:])
    assert leave_out_seen(TALK, seen) == (None, seen)


def test_a_conversation_whose_turns_changed_is_whole() -> None:
    _, seen = leave_out_seen(TALK, None)
    changed = replace(TALK, turns=(replace(TALK.turns[0], text="else"), *TALK.turns[1:]))
    assert leave_out_seen(changed, seen)[0] == replace(changed, whole=True)
    assert leave_out_seen(cut(2), seen)[0] == replace(cut(2), whole=True)
    assert leave_out_seen(cut(0), seen)[0] == replace(cut(0), whole=True)
    assert leave_out_seen(cut(0), None)[0] is None


def test_a_new_title_alone_is_news() -> None:
    _, seen = leave_out_seen(TALK, None)
    assert leave_out_seen(replace(TALK, title="U"), seen)[0] == replace(TALK, title="U", turns=())


def test_as_many_conversations_are_loaded_as_have_enough_to_say() -> None:
    loaded: list[str] = []

    def load(name: str) -> Conversation:
        loaded.append(name)
        return replace(TALK, id=name)

    stamps = [(name, "1") for name in "abc"]
    part = read_changed(ReadPlace(), stamps, load, most=1)
    assert (part.more, [each.id for each in part.conversations]) == (True, ["a"])
    part = read_changed(part.place, stamps, load, most=1000)
    assert (part.more, [each.id for each in part.conversations]) == (False, ["b", "c"])
    assert read_changed(part.place, stamps, load, most=1000).conversations == ()
    assert loaded == ["a", "b", "c"]
    assert read_changed(ReadPlace(state='{"a": 3}'), [("a", "1")], load, most=9).conversations


def test_files_that_are_too_large_or_half_written_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": "' + "x" * 100)
    with pytest.raises(InvalidArgument, match="cut off"):
        load_json(path)
    with pytest.raises(InvalidArgument, match="more than"):
        load_json(path, 50)
    assert load_json_or_none(path) is None
    assert load_json_or_none(tmp_path / "nothing") is None
    path.write_text("[" * 100_000)
    with pytest.raises(InvalidArgument):
        load_json(path)
    assert (parse_state("{"), parse_state("[]"), parse_state("")) == ({}, {}, {})

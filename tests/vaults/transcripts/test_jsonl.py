"""Plain lines of JSON, however their writers name things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import read_once, shown, write_lines
from vaults.errors import InvalidArgument
from vaults.transcripts.jsonl import READER
from vaults.transcripts.transcript import ReadPlace


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}),
        ({"role": "human", "text": "Hi", "ts": 1767600000}, {"role": "AI", "text": "Hello"}),
        ({"type": "user", "message": {"role": "user", "content": "Hi"}}, {"message": {"role": "model", "parts": [
            {"type": "text", "text": "Hello"}]}}),
    ],
)  # fmt: skip
def test_a_line_for_each_message(tmp_path: Path, asked: dict[str, Any], answered: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "talk.jsonl", [{"role": "system", "content": "Be kind"}, asked, answered])
    assert shown(read_once(READER, path)) == [("user", "Hi"), ("assistant", "Hello")]


def test_what_else_a_line_may_say(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "talk.jsonl",
        [
            {"title": "Hinges", "project": "/home/ann/harbour"},
            {"role": "user", "content": "Hi", "timestamp": "2026-01-05T09:00:00+01:00"},
            {"role": "assistant", "content": "Hm", "thinking": True, "model": "m"},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "run", "arguments": '{"x": 1}'}}]},
            {"role": "tool", "tool_call_id": "c", "content": "broken", "is_error": True},
            {"role": "tool", "name": "look", "arguments": {"path": "a"}},
        ],
    )
    conversation = read_once(READER, path)
    assert shown(conversation) == [("user", "Hi"), ("thinking", "Hm"), ("tool", "run"), ("tool", "look")]
    assert (conversation.title, conversation.project, conversation.agent) == ("Hinges", "/home/ann/harbour", "m")
    assert conversation.started_at == "2026-01-05T08:00:00.000Z"
    tool = conversation.turns[2].tool
    assert tool is not None
    assert (tool.outcome, tool.failed) == ("broken", True)


def test_lines_that_say_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        READER.read(write_lines(tmp_path / "x.jsonl", [{"a": 1}, {"role": ["user"]}]), ReadPlace(), 1000)
    assert list(READER.find(tmp_path)) == []


def test_lines_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [3, {"role": "tool"}, {"role": "user", "content": 3}, {"role": "user", "tool_calls": [3, {}]}]
    path = write_lines(tmp_path / "x.jsonl", [*odd, {"role": "user", "content": "Hi"}])
    assert shown(read_once(READER, path))[-1] == ("user", "Hi")

"""Messages in blocks."""

from __future__ import annotations

from vaults.transcripts.message_blocks import blocks_of, take_blocks, text_of
from vaults.transcripts.turn_log import TurnLog


def test_outcomes_come_before_what_is_said_beside_them() -> None:
    log = TurnLog()
    take_blocks(
        log, "assistant", [{"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"query": "x"}}], None
    )
    take_blocks(
        log,
        "user",
        [{"type": "text", "text": "Go on"}, {"type": "tool_result", "tool_use_id": "a", "content": "found"}],
        None,
    )
    assert [turn.role for turn in log.turns] == ["tool", "user"]
    assert log.turns[0].tool is not None
    assert log.turns[0].tool.outcome == "found"


def test_content_of_any_shape() -> None:
    assert blocks_of("x") == [{"type": "text", "text": "x"}]
    assert blocks_of(None) == blocks_of(3) == blocks_of([3]) == []
    assert text_of([{"text": "a"}, {"text": 3}, {"type": "image"}, {"text": "b"}]) == "a\nb"

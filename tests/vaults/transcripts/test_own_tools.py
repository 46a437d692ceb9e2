"""What came from this server does not come back to it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.work import assert_linear
from vaults.transcripts.own_tools import hide_own_tools, without_fences
from vaults.transcripts.transcript import ToolUse, Turn


def hide(name: str, arguments: dict[str, Any], servers: frozenset[str] = frozenset(("strongroom",))) -> ToolUse:
    shown = hide_own_tools(Turn(0, "tool", "", tool=ToolUse(name, arguments, "a memory", failed=False)), servers).tool
    assert shown is not None
    return shown


@pytest.mark.parametrize(
    "name",
    [
        "mcp__strongroom__recall",
        "mcp__plugin_strongroom_strongroom__recall",
        "strongroom_recall",
        "mcp_strongroom_recall",
        "strongroom__recall",
        "mcp__Strongroom__recall",
        "strongroom.recall",
    ],
)
def test_our_tools_are_known_by_every_program_s_name_for_them(name: str) -> None:
    assert hide(name, {"query": "x"}) == ToolUse(name, {}, "", failed=False)


@pytest.mark.parametrize("name", ["mcp__strongrooms__recall", "Read", "mcp__other__strong_room", "armstrongroom_x"])
def test_others_are_left_alone(name: str) -> None:
    assert hide(name, {"query": "x"}).outcome == "a memory"


def test_a_server_may_be_called_something_else() -> None:
    servers = frozenset(("team memory",))
    assert hide("mcp__team_memory__recall", {"a": 1}, servers).arguments == {}
    assert hide("use_mcp_tool", {"server_name": "team-memory", "arguments": "x"}, servers).arguments == {}
    assert hide("ReadMcpResourceTool", {"server": "strongroom", "uri": "x"}).arguments == {}


def test_our_command_line_is_a_mention_only() -> None:
    assert hide("Bash", {"command": '.venv/bin/strongroom remember "x"'}).arguments == {
        "command": "strongroom remember"
    }
    assert hide("Bash", {"command": "strongrooms x"}).outcome == "a memory"
    assert hide("Bash", {"command": "cat strongroom"}).outcome == "a memory"


def test_answers_in_our_fences_are_left_out_of_texts() -> None:
    text = (
        'Before <data-1a2b3c4d source="x" flags="y">\na memory\n</data-1a2b3c4d> after <data-00000000 source="x"> open'
    )
    assert without_fences(text) == "Before [from memory] after [from memory]"
    assert hide_own_tools(Turn(0, "user", text)).text == without_fences(text)
    assert without_fences("<data-1a2b3c4d> no source") == "<data-1a2b3c4d> no source"


def test_many_fences_take_linear_time() -> None:
    assert_linear(without_fences, lambda n: "<data-1a2b3c4d source=x></data-1a2b3c4d>" * n, 2_000)

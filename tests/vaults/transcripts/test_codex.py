"""Codex's lines, in their envelopes and as the first versions wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.vaults.transcripts.reading import read_once, shown, write_lines
from vaults.transcripts.codex import READER

SESSION = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"


def item(payload: dict[str, Any], kind: str = "response_item", minute: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2026-02-01T10:{minute:02}:00.000Z", "type": kind, "payload": payload}


def message(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


def call(name: str, arguments: Any, key: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": key, **more}


def output(key: str, value: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": key, "output": value}


PATCH = "*** Begin Patch\n*** Update File: src/gate.py\n@@\n-a\n+b\n*** Add File: src/hinge.py\n*** End Patch"
META = item({"id": SESSION, "cwd": "/home/ann/harbour", "originator": "codex_cli_rs", "source": "cli"}, "session_meta")


def make(home: Path, records: list[Any]) -> Path:
    day = home / ".codex" / "sessions" / "2026" / "02" / "01"
    return write_lines(day / f"rollout-2026-02-01T10-00-00-{SESSION}.jsonl", records)


def test_a_session_is_read_turn_by_turn(tmp_path: Path) -> None:
    path = make(
        tmp_path,
        [
            META,
            item(message("developer", "<permissions instructions>")),
            item(message("user", "# AGENTS.md instructions for /x\n\nBe kind", "<environment_context>…")),
            item(message("user", "Oil the hinge"), minute=1),
            item({"type": "user_message", "message": "Oil the hinge", "kind": "plain"}, "event_msg"),
            item({"cwd": "/home/ann/harbour", "model": "gpt-5-codex", "approval_policy": "never"}, "turn_context"),
            item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Where?"}], "content": None}),
            item(call("shell", {"command": ["bash", "-lc", "pytest -q"], "workdir": "/x"}, "c1")),
            item(output("c1", json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}}))),
            item(call("exec_command", {"cmd": "ls"}, "c2")),
            item(output("c2", "Chunk ID: 9\nProcess exited with code 0\nOutput:\ngate.py"), minute=2),
            item({"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "c3"}),
            item(output("c3", "Exit code: 0\nDone", "custom_tool_call_output")),
            item(
                {"type": "web_search_call", "action": {"type": "search", "query": "hinge oil"}, "status": "completed"}
            ),
            item(call("recall", {"query": "hinges"}, "c4", namespace="mcp__strongroom__")),
            item(output("c4", [{"type": "input_text", "text": "nothing"}])),
            item({"type": "token_count", "info": None}, "event_msg"),
            item(message("assistant", "Done."), minute=3),
        ],
    )
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == [
        ("user", "Oil the hinge"),
        ("thinking", "Where?"),
        ("tool", "shell"),
        ("tool", "exec_command"),
        ("tool", "apply_patch"),
        ("tool", "web_search"),
        ("tool", "mcp__strongroom__recall"),
        ("assistant", "Done."),
    ]
    assert (conversation.id, conversation.project, conversation.agent) == (SESSION, "/home/ann/harbour", "gpt-5-codex")
    shell, listing, patch, search, _ = (turn.tool for turn in conversation.turns[2:7])
    assert shell
    assert listing
    assert patch
    assert search
    assert (shell.arguments["command"], shell.outcome, shell.failed) == ("pytest -q", "1 failed", True)
    assert (listing.arguments["command"], listing.failed) == ("ls", False)
    assert (patch.arguments, patch.failed) == ({"path": "src/gate.py", "paths": ["src/gate.py", "src/hinge.py"]}, False)
    assert search.arguments["query"] == "hinge oil"


def test_the_first_versions_wrote_items_without_envelope(tmp_path: Path) -> None:
    path = make(
        tmp_path,
        [
            {"id": SESSION, "timestamp": "2025-06-01T10:00:00.000Z", "instructions": None},
            {"record_type": "state"},
            message("user", "Hello"),
            {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["git", "log", "-n 1"]}},
            output("c", {"content": "fatal", "success": False}),
            message("assistant", "Hi"),
        ],
    )
    conversation = read_once(READER, path)
    assert conversation.id == SESSION
    assert shown(conversation) == [("user", "Hello"), ("tool", "local_shell"), ("assistant", "Hi")]
    tool = conversation.turns[1].tool
    assert tool is not None
    assert (tool.arguments["command"], tool.failed) == ("git log '-n 1'", True)


def test_records_of_any_shape_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [
        item({"type": "message", "role": "user", "content": [{"text": 3}, 4]}),
        item({"type": "function_call"}),
        item({"type": "function_call", "arguments": "[1", "name": None, "call_id": None}),
        item({"type": "function_call_output", "output": 7}),
        item({"type": "function_call_output", "output": '{"output": 1, "metadata": 2}', "call_id": "None"}),
        item({"type": "local_shell_call", "action": {"command": [1]}}),
        item({"type": None}),
        {"type": "response_item", "payload": []},
        item({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p-1"}}}, "id": 4}, "session_meta"),
    ]
    conversation = read_once(READER, make(tmp_path, [*odd, item(message("assistant", "Still here"))]))
    assert conversation.parent == "p-1"
    assert shown(conversation)[-1] == ("assistant", "Still here")

"""A conversation as lines that storage takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vaults.domain.actors import workspace_key
from vaults.domain.secrets.redaction import redact
from vaults.transcripts import document_lines
from vaults.transcripts.claude_code import READER
from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.transcript import Conversation, ToolUse, Turn

HOME = Path("/home/ann")
MAKER = LineMaker(HOME, lambda text: redact(text)[0], workspace_key)
TOKEN = "ghp_" + "a1B2" * 9
TALK = Conversation(
    "s1",
    "claude-code",
    (
        Turn(0, "user", f"Use {TOKEN}", "2026-01-05T09:00:00.000Z"),
        Turn(1, "assistant", "Hm", thinking=True),
        Turn(2, "tool", "", tool=ToolUse("Bash", {"command": f"curl -H {TOKEN}"}, f"denied {TOKEN}", failed=True)),
        Turn(3, "tool", "", tool=ToolUse("mcp__strongroom__recall", {"query": "hinge"}, "a memory", failed=False)),
        Turn(4, "assistant", "Done.", author="agent 1f"),
    ),
    title=f"About {TOKEN}",
    project="/home/ann/harbour",
    agent="claude-opus-4-5",
    started_at="2026-01-05T09:00:00.000Z",
    ended_at="2026-01-05T09:05:00.000Z",
    parent="s0",
    whole=True,
)
PATH = HOME / ".claude" / "projects" / "p" / "s1.jsonl"


def test_a_line_says_what_the_conversation_was() -> None:
    (line,) = MAKER.to_lines(TALK, READER, PATH)
    parts = line.pop("parts")
    assert line == {
        "kind": "document",
        "format": "transcript",
        "external_id": "transcript:claude-code:s1",
        "title": "About [redacted: GitHub token]",
        "uri": "~/.claude/projects/p/s1.jsonl",
        "workspace": workspace_key("/home/ann/harbour"),
        "author": "Claude Code",
        "agent": "claude-opus-4-5",
        "parent": "transcript:claude-code:s0",
        "created_at": "2026-01-05T09:00:00.000Z",
        "modified_at": "2026-01-05T09:05:00.000Z",
    }
    model = "claude-opus-4-5"
    mark = "[redacted: GitHub token]"
    assert parts == [
        {"position": 0, "text": f"Use {mark}", "author": "user", "role": "user", "at": "2026-01-05T09:00:00.000Z"},
        {"position": 1, "text": "Hm", "author": model, "role": "assistant", "thinking": True},
        {
            "position": 2,
            "text": f"ran `curl -H {mark}`: failed: denied {mark}",
            "author": model,
            "role": "tool",
        },
        {"position": 3, "text": "called `mcp__strongroom__recall`: ok", "author": model, "role": "tool"},
        {"position": 4, "text": "Done.", "author": "agent 1f", "role": "assistant"},
    ]


def test_new_turns_are_added_and_long_conversations_go_on_in_further_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = MAKER.to_lines(replace(TALK, whole=False), READER, Path("/elsewhere/x.jsonl"))
    assert (line["append"], line["uri"]) == (True, "/elsewhere/x.jsonl")
    monkeypatch.setattr(document_lines, "MAX_CHARACTERS", 10)
    lines = list(MAKER.to_lines(TALK, READER, PATH))
    assert ["append" in each for each in lines] == [False, *[True] * (len(lines) - 1)]
    assert [part["position"] for each in lines for part in each["parts"]] == [0, 1, 2, 3, 4]


def test_what_is_not_known_is_left_out() -> None:
    (line,) = MAKER.to_lines(Conversation("s", "p", (), whole=True), READER, PATH)
    assert line == {
        "kind": "document",
        "format": "transcript",
        "external_id": "transcript:claude-code:s",
        "title": "A conversation with Claude Code",
        "uri": "~/.claude/projects/p/s1.jsonl",
        "author": "Claude Code",
        "parts": [],
    }

"""Calls of tools in one line."""

from __future__ import annotations

from typing import Any

import pytest

from vaults.domain.secrets.redaction import redact
from vaults.transcripts.tool_lines import describe_use
from vaults.transcripts.transcript import ToolUse


def describe(name: str, arguments: dict[str, Any], outcome: str = "", failed: bool | None = None) -> str:
    return describe_use(ToolUse(name, arguments, outcome, failed), lambda text: redact(text)[0])


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"command": "pytest -q", "description": "Run"}, "ran `pytest -q`"),
        ("exec_command", {"cmd": "ls"}, "ran `ls`"),
        ("Edit", {"file_path": "a.py", "old_string": "x"}, "edited `a.py`"),
        ("apply_patch", {"path": "a.py"}, "edited `a.py`"),
        ("Write", {"file_path": "a.py", "content": "x"}, "wrote `a.py`"),
        ("newFileCreated", {"path": "a.py"}, "wrote `a.py`"),
        ("Read", {"file_path": "a.py"}, "read `a.py`"),
        ("LS", {"path": "src"}, "listed `src`"),
        ("Grep", {"pattern": "hinge", "path": "src"}, "searched for `hinge`"),
        ("WebFetch", {"url": "https://example.org"}, "called `WebFetch`: https://example.org"),
        ("Task", {"description": "Look for hinges", "prompt": "…"}, "called `Task`: Look for hinges"),
        ("mcp__x__edit", {"path": "a.py"}, "called `mcp__x__edit`: a.py"),
        ("mcp__x__y", {}, "called `mcp__x__y`"),
        ("odd`name", {"value": 3, "list": ["a", "b"]}, "called `odd'name`: a b"),
    ],
)
def test_what_was_done_by_the_name_and_the_argument_that_says_most(
    name: str, arguments: dict[str, Any], line: str
) -> None:
    assert describe(name, arguments) == line


def test_how_it_went() -> None:
    command = {"command": "pytest -q"}
    assert describe("Bash", command, "all\nfine", failed=False) == "ran `pytest -q`: ok"
    assert describe("Bash", command, failed=True) == "ran `pytest -q`: failed"
    assert describe("Bash", command, "x\n1 failed\n\n", failed=True) == "ran `pytest -q`: failed: 1 failed"


def test_it_is_one_line_of_bounded_length_without_secrets() -> None:
    token = "ghp_" + "a1B2" * 9
    line = describe("Bash", {"command": f"x\n`y` {token} " + "z " * 900}, f"bad {token}", failed=True)
    assert "\n" not in line
    assert token not in line
    assert len(line) < 500
    # The secret begins where the line ends.
    assert "ghp_" not in describe("Bash", {"command": "x" * 190 + f" {token}"})

"""Commands that worked and files that were changed, whichever program ran them.

Covers vaults.transcripts.extraction.tool_steps, vaults.transcripts.extraction.command_lines.
"""

from __future__ import annotations

import pytest

from tests.vaults.transcripts.extraction.told import made
from vaults.transcripts.extraction.command_lines import changes_something, is_other_form, rate_command
from vaults.transcripts.extraction.tool_steps import has_failed, read_changes, read_command, to_project_path
from vaults.transcripts.transcript import ToolUse


@pytest.mark.parametrize(
    "line",
    [
        "pnpm vitest run src/checkout", "python -m pytest -q", "python manage.py migrate", "docker compose up -d db",
        "make",
        "RAILS_ENV=production bin/rails assets:precompile",
        "npx vsce package",
        "cmake -S . -B build && cmake --build build", "./gradlew :app:assembleDebug", "terraform plan -out=x",
    ],
)  # fmt: skip
def test_commands_worth_keeping(line: str) -> None:
    assert rate_command(line) > 0


@pytest.mark.parametrize(
    "line",
    [
        "ls -la", "cd src && ls", "git status", "cat a | grep b", "python -c 'print(1)'", "python - <<PY",
        "sed -n 1,20p a",
        "npm install zod", "pip install x", "kubectl -n staging get pods", "aws ec2 describe-instances", "rg foo",
        "node -e 1",
        "npx create-next-app@latest .", "docker ps", "which node", "curl -s http://x", "", "node",
        "for i in 1; do x; done",
    ],
)  # fmt: skip
def test_commands_that_only_look_around(line: str) -> None:
    assert rate_command(line) == 0


def test_a_strange_program_has_to_run_twice() -> None:
    once = made("B frobnicate all --now", "  ok: done")
    twice = made("B frobnicate all --now", "  ok: done", "B frobnicate all --now", "  ok: done")
    assert once == []
    assert [each.content for each in twice] == ["Worked in shop (2 times): `frobnicate all --now`"]
    assert twice[0].confidence < 0.6


def test_a_command_that_only_failed_is_not_kept() -> None:
    assert [each.kind for each in made("B make all", "  err: x", "U hm")] == ["open"]


def test_one_command_is_one_memory_with_all_its_runs() -> None:
    (found,) = made("B make all", "  ok: x", "B cd /a && make all 2>&1 | tail -5", "  ok: x", "B make all", "  ?: x")
    assert found.turns == (0, 1, 2)
    assert found.content == "Worked in shop (3 times): `make all`"


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini", "opencode", "cursor", "cline"])
def test_changed_files_are_one_memory(program: str) -> None:
    lines = ("U rename it", "E /home/ada/shop/src/a.ts :: x => y", "W src/b.ts", "E src/b.ts :: p => q")
    (found,) = made(*lines, program=program)
    assert "src/a.ts, src/b.ts." in found.content
    assert "rename it" in found.content
    assert found.turns == (1, 3)


def test_a_single_file_is_what_the_memory_applies_to() -> None:
    (found,) = made("E src/a.ts :: x => y")
    assert found.applies_to == "file:src/a.ts"


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        (ToolUse("shell", {"command": ["bash", "-lc", "make all"]}), "make all"),
        (ToolUse("exec_command", {"cmd": "make all"}), "make all"),
        (ToolUse("mcp__x__bash", {"command": "make  all"}), "make all"),
        (ToolUse("bash", {"command": "a\nb"}), None),
        (ToolUse("bash", {"command": "x" * 1000}), None),
        (ToolUse("bash", {}), None),
        (ToolUse("Read", {"command": "make"}), None),
    ],
)
def test_the_command_of_a_tool(tool: ToolUse, command: str | None) -> None:
    assert read_command(tool) == command


def test_the_files_of_a_patch() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b/c.py\n+z\n*** End Patch"
    assert [each.path for each in read_changes(ToolUse("apply_patch", {"input": patch}))] == ["a.py", "b/c.py"]
    assert read_changes(ToolUse("str_replace_editor", {"command": "view", "path": "a"})) == ()
    assert read_changes(ToolUse("Write", {"file_path": "a\x00b"})) == ()


def test_whether_a_tool_failed() -> None:
    assert has_failed(ToolUse("bash", {}, "Process exited with code 2")) is True
    assert has_failed(ToolUse("bash", {}, "exit code: 0")) is False
    assert has_failed(ToolUse("bash", {}, "who knows")) is None
    assert has_failed(ToolUse("bash", {}, "exit code: 1", failed=False)) is False


def test_paths_are_named_as_in_the_project() -> None:
    assert to_project_path("/home/ada/shop/src/a.ts", "/home/ada/shop") == "src/a.ts"
    assert to_project_path("C:\\shop\\src\\a.ts", "C:\\shop") == "src/a.ts"
    assert to_project_path("/etc/nginx/conf.d/x.conf", "/home/ada/shop") == "nginx/conf.d/x.conf"


def test_forms_of_one_command() -> None:
    assert is_other_form("cmake --build build", "cmake -S . -B build && cmake --build build")
    assert is_other_form("bundle update rails", "bundle update rails paper_trail")
    assert not is_other_form("npm test", "npm run lint")
    assert changes_something("git stash")
    assert not changes_something("git status && ls")

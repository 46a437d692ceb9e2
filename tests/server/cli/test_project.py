"""A project's own vault: made once, found from below, moved with its folder, and polite to the files around it.

Covers server.setup.agent_guides, server.setup.project_settings.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters

from server.setup.agent_guides import AGENTS, BEGIN, CLAUDE, END, SKILL
from tests.server.cli.command import Strongroom
from tests.work import PROGRAM_PATIENCE_S


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "My Boat"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def test_init_makes_a_vault_and_tells_of_it(strongroom: Strongroom, project: Path) -> None:
    made = strongroom("init", str(project))
    assert made.code == 0, made.err
    state = project / ".strongroom"
    assert (project / ".gitignore").read_text() == ".strongroom/\n"
    assert (state / ".gitignore").read_text() == "*\n"
    assert (state / "MEMORY.md").is_file()
    agents = (project / AGENTS).read_bytes()
    assert agents.startswith(BEGIN)
    vaults = strongroom("vault", "list", "--json", "--data", str(state)).json["vaults"]
    assert [(each["name"], each["path"]) for each in vaults] == [("my-boat", str(project))]
    listed = strongroom("call", "memory_list", '{"thread": "welcome"}', "--vault", "my-boat", "--data", str(state))
    assert [memory["title"] for memory in listed.json["memories"]] == ["Welcome"]


def test_init_again_changes_nothing(strongroom: Strongroom, project: Path) -> None:
    strongroom("init", str(project))
    before = {
        path: path.read_bytes() for path in project.rglob("*") if path.suffix == ".md" or path.name == ".gitignore"
    }
    again = strongroom("init", str(project))
    assert again.code == 0
    assert "wrote" not in again.out
    assert {path: path.read_bytes() for path in before} == before
    assert (
        strongroom("vault", "info", "my-boat", "--json", "--data", str(project / ".strongroom")).json["memories"][
            "living"
        ]
        == 1
    )


def test_init_writes_a_skill_and_leaves_one_of_the_users_alone(strongroom: Strongroom, project: Path) -> None:
    assert strongroom("init", str(project)).code == 0
    skill = project / SKILL
    head = yaml.safe_load(skill.read_text().split("---\n")[1])
    assert head["name"] == skill.parent.name
    assert "session_resume" in skill.read_text()
    skill.write_text("---\nname: mine\n---\nmine\n")
    assert strongroom("init", str(project)).code == 0
    assert skill.read_text() == "---\nname: mine\n---\nmine\n"


@pytest.mark.parametrize(
    "held",
    [
        b"# Ours\n",
        b"# no newline at the end",
        b"\xef\xbb\xbf# BOM\r\nand CRLF\r\n",
        b"latin \xe9\n",
        b"before\n" + BEGIN + b"\nold text\n" + END + b"\nafter\n",
    ],
    ids=["plain", "no-newline", "crlf", "latin-1", "older-block"],
)
def test_agents_md_keeps_every_byte_outside_the_markers(strongroom: Strongroom, project: Path, held: bytes) -> None:
    (project / AGENTS).write_bytes(held)
    (project / AGENTS).chmod(0o640)
    assert strongroom("init", str(project)).code == 0
    now = (project / AGENTS).read_bytes()
    head, _, rest = now.partition(BEGIN)
    block, _, tail = rest.partition(END)
    if BEGIN in held:
        assert (head, tail) == (b"before\n", b"\nafter\n")
        assert b"old text" not in block
    else:
        assert head.startswith(held)
        assert not head.removeprefix(held).strip()
        assert (b"\r\n" in block) == (b"\r\n" in held)
    assert (project / AGENTS).stat().st_mode & 0o777 == 0o640
    strongroom("init", str(project))
    assert (project / AGENTS).read_bytes() == now


def test_a_claude_md_of_its_own_is_pointed_too_and_keeps_every_byte(strongroom: Strongroom, project: Path) -> None:
    held = b"# Mine\r\nno end"
    (project / CLAUDE).write_bytes(held)
    assert f"wrote {project / CLAUDE}" in strongroom("init", str(project)).out
    now = (project / CLAUDE).read_bytes()
    assert now.startswith(held + b"\r\n\r\n" + BEGIN)
    assert "wrote" not in strongroom("init", str(project)).out
    assert (project / CLAUDE).read_bytes() == now


def test_a_claude_md_that_leads_to_agents_md_is_left_alone(strongroom: Strongroom, project: Path) -> None:
    (project / CLAUDE).write_bytes(b"@AGENTS.md\n")
    strongroom("init", str(project))
    assert (project / CLAUDE).read_bytes() == b"@AGENTS.md\n"
    (project / CLAUDE).unlink()
    (project / CLAUDE).symlink_to(AGENTS)
    strongroom("init", str(project))
    assert (project / CLAUDE).is_symlink()
    assert (project / AGENTS).read_bytes().count(BEGIN) == 1


def test_init_makes_no_claude_md_and_says_how_clients_connect(strongroom: Strongroom, project: Path) -> None:
    made = strongroom("init", str(project))
    assert not (project / CLAUDE).exists()
    assert "claude mcp add strongroom -- strongroom stdio" in made.out
    assert json.loads(made.out.partition(".cursor/mcp.json):\n")[2].partition("\n")[0])["mcpServers"]["strongroom"]


def test_half_a_block_is_left_alone(strongroom: Strongroom, project: Path) -> None:
    (project / AGENTS).write_bytes(BEGIN + b"\nmine\n")
    ran = strongroom("init", str(project))
    assert (ran.code, (project / AGENTS).read_bytes()) == (1, BEGIN + b"\nmine\n")
    assert AGENTS in ran.err


def test_init_without_agents_and_outside_of_git(strongroom: Strongroom, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    assert strongroom("init", str(folder), "--no-agents").code == 0
    assert sorted(path.name for path in folder.iterdir()) == [".strongroom"]
    assert strongroom("init", str(tmp_path / "absent")).code == 2


@pytest.mark.parametrize("held", [b".strongroom\n", b"/.strongroom/\r\n", b"a\n  .strongroom/  \nb"])
def test_a_vault_that_is_ignored_already_is_not_ignored_twice(
    strongroom: Strongroom, project: Path, held: bytes
) -> None:
    (project / ".gitignore").write_bytes(held)
    strongroom("init", str(project))
    assert (project / ".gitignore").read_bytes() == held


async def called(strongroom: Strongroom, cwd: Path, *args: str, tool: str, **arguments: Any) -> dict[str, Any]:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "server", "stdio", *args], cwd=cwd, env=strongroom.environment({})
    )
    async with Client(command) as client:
        result = await client.call_tool(tool, arguments)
        return dict(result.structured_content or {})


def test_stdio_finds_the_project_from_below_with_several_windows(strongroom: Strongroom, project: Path) -> None:
    strongroom("init", str(project))
    below = project / "src" / "deep"

    async def windows() -> list[dict[str, Any]]:
        await asyncio.gather(
            called(strongroom, below, tool="remember", content="from deep below"),
            called(strongroom, project, tool="remember", content="from the top"),
        )
        return await asyncio.gather(
            *(called(strongroom, each, tool="recall", query="deep top") for each in (project, below))
        )

    for found in asyncio.run(windows()):
        assert {hit["content"] for hit in found["hits"]} == {"from deep below", "from the top"}
    assert not strongroom.data.exists()


def test_a_folder_that_was_moved_takes_its_vault_along(strongroom: Strongroom, project: Path, tmp_path: Path) -> None:
    strongroom("init", str(project))
    shutil.move(project, tmp_path / "elsewhere")
    found = asyncio.run(called(strongroom, tmp_path / "elsewhere", tool="recall", query="welcome"))
    assert [hit["title"] for hit in found["hits"]] == ["Welcome"]


def test_stdio_serves_main_where_there_is_no_project_and_a_path_where_asked(
    strongroom: Strongroom, tmp_path: Path
) -> None:
    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        main = await called(strongroom, tmp_path, tool="status")
        (tmp_path / "docs").mkdir()
        placed = await called(strongroom, tmp_path, "--path", "docs", "--read-only", tool="status")
        return main, placed

    main, placed = asyncio.run(both())
    assert (main["vault"], main["you"]["write_mode"]) == ("main", "auto")
    assert (placed["vault"], placed["you"]["write_mode"]) == ("docs", "off")
    assert (strongroom.data / "vaults" / "main" / "vault.db").is_file()
    assert (tmp_path / "docs" / ".strongroom" / "vault.db").is_file()


def test_a_folder_served_in_place_keeps_its_vault_when_it_is_served_alone(
    strongroom: Strongroom, tmp_path: Path
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    strongroom("vault", "create", "team", "--path", str(folder))
    strongroom("call", "remember", '{"content": "the same vault"}', "--vault", "team")
    found = asyncio.run(called(strongroom, folder, tool="recall", query="same vault"))
    assert [hit["content"] for hit in found["hits"]] == ["the same vault"]
    assert strongroom("vault", "create", "again", "--path", str(folder)).code == 1


def test_wrong_choices_end_with_a_line_on_stderr_and_nothing_on_stdout(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    for args, code in ((["--vault", "a", "--path", "b"], 2), (["--path", "absent"], 2), (["--vault", "absent"], 1)):
        ran = strongroom("stdio", *args)
        assert (ran.code, ran.out) == (code, ""), args
        assert ran.err.startswith("strongroom: ")
        assert ran.err.count("\n") == 1


def test_stdout_holds_nothing_but_answers(strongroom: Strongroom) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = subprocess.run(
        strongroom.argv("stdio", "--log-level", "debug"),
        input=json.dumps(message).encode() + b"\n",
        capture_output=True,
        cwd=strongroom.data.parent,
        env=strongroom.environment({}),
        timeout=PROGRAM_PATIENCE_S,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1]
    assert done.returncode == 0


def test_a_project_keeps_its_conversations_only_if_it_is_told_to(strongroom: Strongroom, project: Path) -> None:
    state = project / ".strongroom"
    assert strongroom("init", str(project)).code == 0
    assert not (state / "strongroom.toml").exists()
    (state / "strongroom.toml").write_text('[search]\nfusion = "rrf"')
    assert "strongroom.toml" in strongroom("init", str(project), "--harvest").out
    shown = strongroom("config", "show", "--json", "--data", str(state)).out
    assert json.loads(shown)["settings"]["harvest.enabled"]["value"] is True, shown
    before = (state / "strongroom.toml").read_bytes()
    assert before.startswith(b'[search]\nfusion = "rrf"\n\n[harvest]\n')
    again = strongroom("init", str(project), "--harvest")
    assert (again.code, "strongroom.toml" in again.out) == (0, False)
    assert (state / "strongroom.toml").read_bytes() == before


def test_settings_that_say_otherwise_are_left_alone(strongroom: Strongroom, project: Path) -> None:
    strongroom("init", str(project))
    file = project / ".strongroom" / "strongroom.toml"
    for said in ("[harvest]\nenabled = false\n", "[harvest\n"):
        file.write_text(said)
        ran = strongroom("init", str(project), "--harvest")
        assert (ran.code, file.read_text()) != (0, "")
        assert file.read_text() == said

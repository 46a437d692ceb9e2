"""A working day: somebody works and is killed, somebody else goes on, and next morning the story is still there."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from auth.roles import Role
from tests.server.cli.command import ENVIRONMENT
from tests.server.http.serving import Ground, Site, enveloped, served
from tests.work import PROGRAM_PATIENCE_S
from vaults.db.engine import sqlite
from vaults.search import tokenizer

HERE = Path(__file__).parent
NIGHT = "-14 hours"


class Killed:
    """An agent in a process of its own, over a pipe; in the end it is killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([tool, arguments]) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def agent(site: Site, subject: str) -> Iterator[Killed]:
    argv = [sys.executable, str(HERE / "agent_at_work.py"), f"{site.url}/v/main/mcp", site.tokens[subject], "worker"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Killed(process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL


def asking(client: Client) -> Any:
    async def ask(tool: str, /, **arguments: Any) -> Any:
        answer = await client.call_tool(tool, arguments)
        assert not answer.is_error, answer.structured_content
        return answer.structured_content

    return ask


async def people(ground: Ground) -> dict[str, str]:
    names = ("ada", "ben", "cleo")
    return {name: await ground.token(name, Role.WRITER, "main") for name in names}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with served(tmp_path / "data", prepare=people) as running:
        yield running


def sleep_over(database: Path) -> None:
    """Let everything have happened yesterday."""
    moved = {
        "sessions": ("started_at", "seen_at", "saved_at", "ended_at"),
        "events": ("at",),
        "memories": ("created_at", "updated_at"),
        "handoffs": ("created_at", "accepted_at"),
        "checkpoints": ("created_at",),
        "claims": ("claimed_at",),
        "passages": ("at", "modified_at"),
    }
    raw = sqlite.connect(database, isolation_level=None, timeout=PROGRAM_PATIENCE_S)
    for table, columns in moved.items():
        sets = ", ".join(f"{name} = strftime('%Y-%m-%dT%H:%M:%fZ', {name}, '{NIGHT}')" for name in columns)
        raw.execute(f"UPDATE {table} SET {sets}")
    raw.close()


def work_until_killed(ada: Killed) -> str:
    """Ada's morning, up to the handoff she leaves: its id."""
    assert ada("session_resume")["sessions"] == []
    ada("claims", action="claim", resources=["src/db.ts", "task:migration"], description="moving to Postgres")
    decided = "We keep SQLite for tests and use Postgres in production, because tests must run offline."
    ada("remember", content=decided, title="Postgres in production", type="decision", thread="migration")
    failed = "The migration fails on rows with a null owner: fill owner before adding the constraint."
    ada("remember", content=failed, title="Null owners break the migration", type="error", thread="migration")
    ada("checkpoint", reason="schema written", state={"step": 2, "of": 3}, thread="migration")
    left = ada(
        "handoff_create", goal="Production runs on Postgres", current_state="The schema is written",
        next_action="Fill owner, then add the constraint", constraints=["no downtime"], artifacts=["src/db.ts"],
        claims=["src/db.ts", "task:migration"],
    )  # fmt: skip
    ada("remember", content="The staging database is called blue.", type="fact", thread="migration")
    return str(left["handoff"]["id"])


async def go_on(ben: Any, cleo: Any, handoff: str) -> None:
    """Ben's afternoon: he reads, takes over, meets Cleo at one file, and finishes."""
    around = await ben("session_resume")
    (ada,) = [view for view in around["sessions"] if view["who"] == "ada"]
    assert "yours" not in ada
    assert ada["activity_log"][-1]["title"] == "The staging database is called blue."
    assert around["handoff"]["id"] == handoff
    brief = await ben("context", format="prompt")
    for told in ("Postgres in production", "Null owners break the migration", "Fill owner, then add the constraint"):
        assert told in brief["prompt"]
    taken = await ben("handoff_load", accept=True)
    assert taken["handoff"]["receipt"]["accepted_by"] == "ben"
    assert sorted(taken["claims"]) == ["src/db.ts", "task:migration"]
    await cleo("claims", action="claim", resources=["docs/api.md"], description="rewording")
    with pytest.raises(AssertionError, match="cleo"):
        await ben("claims", action="claim", resources=["docs/api.md"])
    with pytest.raises(AssertionError, match="ben"):
        await cleo("handoff_load", id=handoff, accept=True)
    await cleo("claims", action="release", resources=["docs/api.md"])
    await ben("claims", action="claim", resources=["docs/api.md"], description="what changed for callers")
    await ben("remember", content="Owners are filled by a trigger since today.", type="fact", thread="migration")
    await ben(
        "session_save", goal="Production runs on Postgres", summary="Filled owners and added the constraint",
        outcomes=["migration is green"], where_left_off="Only the runbook is missing", status="completed",
    )  # fmt: skip
    held = (await cleo("claims"))["claims"]
    assert held == []


async def test_a_killed_agents_work_is_gone_on_with_and_told_next_morning(site: Site) -> None:
    with agent(site, "ada") as ada:
        handoff = await asyncio.to_thread(work_until_killed, ada)
    async with (
        site.client("ben", query="?tools=full") as ben,
        site.client("cleo", query="?tools=full") as cleo,
    ):
        await go_on(asking(ben), asking(cleo), handoff)
    sleep_over(site.ground.loaded.data / "vaults" / "main" / "vault.db")
    async with site.client("cleo", query="?tools=full") as morning:
        ask = asking(morning)
        story = (await ask("context", format="prompt", budget_tokens=1500))["prompt"]
        assert tokenizer.count_tokens(story) < 1500
        for told in (
            "Filled owners and added the constraint", "Only the runbook is missing", "Postgres in production",
            "Null owners break the migration", "migration",
        ):  # fmt: skip
            assert told in story, story
    async with site.client("owner", query="?tools=full") as operator:
        usage = await asking(operator)("usage")  # everybody's: an admin is told
        used = {line["tool"]: line for line in usage["tools"]}
        assert used["remember"]["calls"] == 4
        assert used["claims"]["errors"] == 1
        assert usage["tokens"]["schemas"] > 0
        assert usage["tokens"]["results"] > 0
        assert usage["savings"]


def own_vault(folder: Path) -> StdioServerParameters:
    argv = ["-m", "server", "stdio", "--path", str(folder), "--tools", "full"]
    return StdioServerParameters(command=sys.executable, args=argv, env=ENVIRONMENT, cwd=str(folder))


def by_hand(process: subprocess.Popen[bytes], tool: str, **arguments: Any) -> dict[str, Any]:
    """A call as plain lines: whoever makes it is not there to be closed politely."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(enveloped("tools/call", {"name": tool, "arguments": arguments})).encode() + b"\n")
    process.stdin.flush()
    result: dict[str, Any] = json.loads(process.stdout.readline())["result"]
    assert not result["isError"], result
    return result


def work_alone_until_killed(server: StdioServerParameters) -> None:
    argv = [server.command, *server.args]
    first = subprocess.Popen(argv, env=server.env, cwd=server.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    by_hand(first, "remember", content="The printer needs a restart on Mondays.", type="decision", thread="office")
    by_hand(first, "claims", action="claim", resources=["plan.md"], description="dates")
    by_hand(first, "session_resume")
    first.kill()
    first.communicate()


async def test_one_person_goes_on_over_stdio_after_the_process_was_killed(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("# Plan\n\nShip on Friday.\n", encoding="utf-8")
    server = own_vault(tmp_path)
    await asyncio.to_thread(work_alone_until_killed, server)
    async with Client(server) as client:
        ask = asking(client)
        around = await ask("session_resume")
        (left, *_) = [view for view in around["sessions"] if view["id"] != around["session"]["id"]]
        assert left["activity_log"][0]["title"] == "The printer needs a restart on Mondays."
        story = (await ask("context", format="prompt", budget_tokens=1500))["prompt"]
        assert "printer" in story
        assert tokenizer.count_tokens(story) < 1500
        assert (await ask("usage"))["tokens"]["results"] > 0

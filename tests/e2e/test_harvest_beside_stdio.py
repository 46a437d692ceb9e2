"""A server over stdio keeps what is said beside its calls, where somebody asked for that, and a project its own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.e2e.test_working_day import asking
from tests.server.cli.command import ENVIRONMENT, Strongroom
from tests.work import PROGRAM_PATIENCE_S
from tests.working_day import WorkingDay

INSIDE = "Please write the boat's name in capitals from now on."
OUTSIDE = "Please use pnpm, not npm, in this repository from now on."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a home folder, and a conversation elsewhere."""
    folder = tmp_path / "home" / "boat"
    folder.mkdir(parents=True)
    WorkingDay(tmp_path / "home", name="elsewhere").add("user", OUTSIDE)
    return folder


def serving(project: Path) -> StdioServerParameters:
    environment = {**ENVIRONMENT, "HOME": str(project.parent), "STRONGROOM_DATA": str(project.parent.parent / "data")}
    argv = ["-m", "server", "stdio", "--tools", "full"]
    return StdioServerParameters(command=sys.executable, args=argv, env=environment, cwd=str(project))


async def totals(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = await asking(client)("transcripts")
    return found


async def test_a_project_that_asked_for_it_keeps_what_is_said_in_it(tmp_path: Path, project: Path) -> None:
    strongroom = Strongroom(tmp_path / "data")
    assert strongroom.process("init", str(project), "--harvest").code == 0
    async with Client(serving(project)) as client:
        day = WorkingDay(project.parent, str(project))
        day.add("user", INSIDE)
        until = time.monotonic() + PROGRAM_PATIENCE_S
        while (await totals(client)).get("total", 0) == 0:
            assert time.monotonic() < until, "what was said is never kept"
        (kept,) = (await asking(client)("transcripts", action="list"))["transcripts"]
        assert kept["title"] == INSIDE
        memories = (await asking(client)("memory_list", workspace="all"))["memories"]
        assert not any("pnpm" in each["content"] for each in memories)
        told = await asking(client)("transcripts", action="harvest")
        assert told["new_turns"] == 0, "the same state: nothing comes twice"


async def test_one_that_did_not_reads_nothing_until_an_agent_asks(tmp_path: Path, project: Path) -> None:
    strongroom = Strongroom(tmp_path / "data")
    assert strongroom.process("init", str(project)).code == 0
    WorkingDay(project.parent, str(project)).add("user", INSIDE)
    async with Client(serving(project)) as client:
        assert not (project / ".strongroom" / "harvest").exists()
        told = await asking(client)("transcripts", action="harvest")
        assert (told["documents"], told["memories"]) == (1, 1)
        assert (await totals(client))["total"] == 1

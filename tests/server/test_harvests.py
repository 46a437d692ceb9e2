"""Harvests beside a server for one person: whose conversations, who runs them, and what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auth.principal import owner
from auth.roles import Role
from server import harvests, vault_admin
from server.call import Caller
from server.harvests import BackgroundHarvest, make_harvester
from server.services import Services
from server.settings import HarvestSettings
from tests.conftest import Asking, Opening, asker
from tests.people import person
from tests.server.rendering.answers import unsaid
from tests.working_day import WorkingDay
from vaults.errors import StorageFull
from vaults.transcripts.harvest_state import HarvestState

SAID = "Please use pnpm, not npm, in this repository from now on."
STDIO = Caller(owner("stdio"), "main", Role.ADMIN, "stdio", preset="full")


@pytest.fixture
def day(tmp_path: Path) -> WorkingDay:
    day = WorkingDay(tmp_path / "home")
    day.add("user", SAID)
    return day


@pytest.fixture
async def solo(services: Services, day: WorkingDay) -> Services:
    """A server for one person."""
    return replace(services, home=day.home)


def beside(services: Services, home: Path, **more: Any) -> BackgroundHarvest:
    return BackgroundHarvest(services, owner("stdio"), "main", home, **more)


async def titles(services: Services) -> list[str]:
    listed = await asker(services, STDIO)("transcripts", action="list")
    return [each["title"] for each in listed.content.get("transcripts", [])]


async def test_what_is_said_is_kept_beside_the_calls_and_once(solo: Services, day: WorkingDay) -> None:
    first = await beside(solo, day.home).run_once()
    assert first is not None
    assert (first.count("document"), first.count("memory")) == (1, 1)
    again = await beside(solo, day.home).run_once()
    assert again is not None
    assert again.outcomes == {}
    assert await titles(solo) == [SAID]


@pytest.mark.parametrize("mode", ["ask", "off"])
async def test_where_a_person_is_to_be_asked_nothing_is_kept_unasked(
    solo: Services, day: WorkingDay, mode: str
) -> None:
    assert await beside(solo, day.home, write_mode=mode).run_once() is None
    assert await titles(solo) == []


async def test_only_the_process_with_the_background_work_harvests(
    solo: Services, day: WorkingDay, opening: Opening
) -> None:
    async with solo.pool.lease(solo.registry_cache.entry("main")) as held:
        assert held.background.is_ours()
        async with opening() as second:
            assert await beside(second, day.home).run_once() is None
    assert await titles(solo) == []


async def test_it_waits_for_another_harvest_without_a_word(solo: Services, day: WorkingDay) -> None:
    at = make_harvester(HarvestSettings(), day.home, solo.data, "main").state
    at.mkdir(parents=True)
    with HarvestState(at / "transcripts.db"):
        assert await beside(solo, day.home).run_once() is None
    assert await beside(solo, day.home).run_once() is not None


async def test_it_lets_calls_go_first(solo: Services, day: WorkingDay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvests, "_LONGEST_PAUSE_S", 600.0)
    with solo.quotas.admit(STDIO.principal, "main"):
        waiting = asyncio.create_task(harvests._wait_for_calls(solo))
        running = asyncio.create_task(beside(solo, day.home).run_once())
        for _ in range(20):  # far longer than it takes
            assert await titles(solo) == []
        assert not waiting.done()
        assert not running.done()
    found = await running
    assert await waiting
    assert found is not None
    assert found.count("memory") == 1


async def test_a_failure_is_said_once_and_does_not_end_it(
    solo: Services, day: WorkingDay, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    tried = asyncio.Semaphore(0)

    async def failing(self: BackgroundHarvest) -> None:
        tried.release()
        raise StorageFull("the disk is full")

    monkeypatch.setattr(BackgroundHarvest, "run_once", failing)
    monkeypatch.setattr(harvests, "AFTER_FAILURE_S", 0.0)
    monkeypatch.setattr(harvests.log, "warning", lambda event, **about: said.append(about["reason"]), raising=False)
    following = asyncio.create_task(beside(solo, day.home).follow())
    for _ in range(3):
        await asyncio.wait_for(tried.acquire(), 60)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert said == ["the disk is full"]


@pytest.fixture
async def of_project(tmp_path: Path, opening: Opening) -> AsyncIterator[tuple[Services, Path]]:
    """A server on the data folder of a project."""
    project = tmp_path / "home" / "boat"
    (project / ".strongroom").mkdir(parents=True)
    async with opening(vaults=(), data=project / ".strongroom") as services:
        await vault_admin.create(services, "main", project)
        yield services, project


async def test_a_projects_vault_keeps_what_was_said_in_the_project_and_nothing_else(
    of_project: tuple[Services, Path], day: WorkingDay
) -> None:
    services, project = of_project
    inside = WorkingDay(day.home, str(project / "src"), "inside")
    inside.add("user", "Please write the boat's name in capitals from now on.")
    report = await beside(services, day.home).run_once()
    assert report is not None
    assert (report.count("document"), report.seen.excluded) == (1, 1)
    assert await titles(services) == ["Please write the boat's name in capitals from now on."]
    left = await asker(services, STDIO)("search", query="pnpm repository", mode="keyword", workspace="all")
    assert left.content["hits"] == []


def test_a_harvest_into_another_server_is_not_bound_to_the_folder_here(tmp_path: Path) -> None:
    data = tmp_path / "boat" / ".strongroom"
    far = make_harvester(HarvestSettings(), tmp_path, data, "https://memory.example.org/v/main/mcp")
    assert far.rules.only is None
    assert make_harvester(HarvestSettings(), tmp_path, data, "boat").rules.only == tmp_path / "boat"
    assert make_harvester(HarvestSettings(), tmp_path, tmp_path / "data", "main").rules.only is None
    assert far.state != make_harvester(HarvestSettings(), tmp_path, data, "main").state


async def test_an_agent_has_a_pass_run_now(solo: Services, day: WorkingDay) -> None:
    ask = asker(solo, STDIO)
    found = await ask("transcripts", action="harvest")
    assert found.content == {"files": 1, "new_turns": 1, "documents": 1, "memories": 1}, found
    assert not unsaid(found.content, found.text)
    assert found.text.startswith("1 new turn in 1 transcript; 1 memory stored")
    again = (await ask("transcripts", action="harvest")).content
    assert (again["new_turns"], again["documents"]) == (0, 0)
    assert (await ask("search", query="pnpm", kinds=["transcript"], workspace="all")).content["hits"]
    assert not (
        await asker(solo, replace(STDIO, role=Role.READER, write_mode="off"))("transcripts", action="harvest")
    ).ok


async def test_a_pass_that_takes_too_long_says_that_there_is_more(
    solo: Services, day: WorkingDay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.tools.transcripts.HARVEST_S", -1.0)
    found = (await asker(solo, STDIO)("transcripts", action="harvest")).content
    assert (found["more"], found.get("documents", 0)) == (True, 0)


async def test_a_server_of_several_reads_nobodys_files(
    services: Services, ask: Asking, day: WorkingDay, solo: Services
) -> None:
    for asking in (ask, await person(services, "ann"), asker(solo, replace(STDIO, transport="http"))):
        refused = await asking("transcripts", action="harvest")
        assert (refused.code, "strongroom harvest --url" in refused.content["error"]["hint"]) == (
            "not_found",
            True,
        )
    assert await titles(services) == []

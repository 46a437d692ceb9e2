"""``strongroom harvest``, as a person runs it."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from server.cli import harvest
from server.harvests import make_harvester
from server.settings import HarvestSettings
from tests.server.cli.command import ROOT, Strongroom
from tests.working_day import WorkingDay
from vaults.domain.import_export.harvesting import Harvester, HarvestReport
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import Push
from vaults.errors import Conflict, StorageFull, VaultUnavailable
from vaults.transcripts.harvest import HarvestTally
from vaults.transcripts.harvest_state import HarvestState

UNIT = ROOT / "deploy" / "systemd" / "strongroom-harvest.service"


def test_one_pass_stores_what_is_new(strongroom: Strongroom, tmp_path: Path) -> None:
    day = WorkingDay(tmp_path / "home")
    day.add("user", "Please use pnpm, not npm, in this repository from now on.")
    strongroom("vault", "create", "main")
    ran = strongroom("harvest", "--vault", "main", "--once", HOME=str(day.home))
    assert (ran.code, ran.out) == (0, "1 new turn in 1 transcript; 1 memory stored or changed\n"), ran.err
    assert strongroom("import", "list", "--vault", "main").out.split()[-1] == "done"
    assert strongroom("harvest", "--vault", "nowhere", "--once").code == 1
    wrong = strongroom("harvest", "--vault", "main", "--once", "--remember", "dreams", HOME=str(day.home))
    assert (wrong.code, "there are codebase, command, decision" in wrong.err) == (2, True)


def test_one_pass_waits_for_another_program_and_says_so_in_the_end(
    strongroom: Strongroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = WorkingDay(tmp_path / "home")
    day.add("user", "Please use pnpm, not npm, in this repository from now on.")
    strongroom("vault", "create", "main")
    state = make_harvester(HarvestSettings(), day.home, strongroom.data, "main").state
    state.mkdir(parents=True)
    monkeypatch.setattr(harvest, "PATIENCE_S", 0.0)
    with HarvestState(state / "transcripts.db"):
        ran = strongroom("harvest", "--once", HOME=str(day.home))
    assert (ran.code, "another harvest is running" in ran.err) == (1, True)
    assert strongroom("harvest", "--once", HOME=str(day.home)).code == 0


class Passes:
    """Stands for a ``Harvester``: each pass ends as it is told to, and the last one for good."""

    def __init__(self, *ends: Exception | None) -> None:
        self._ends = list(ends)
        self.pushes: list[Push] = []

    async def run(self, push: Push, most_calls: int) -> HarvestReport:
        assert most_calls == 1
        self.pushes.append(push)
        if not self._ends:
            raise asyncio.CancelledError
        if (end := self._ends.pop(0)) is not None:
            raise end
        return HarvestReport(HarvestTally())

    async def close(self) -> None:
        """There is nothing to let go of."""


async def followed(passes: Passes) -> list[int]:
    """How many passes each connection served."""
    opened: list[int] = []

    @asynccontextmanager
    async def open_push() -> AsyncIterator[Push]:
        opened.append(len(passes.pushes))

        async def push(_: Sequence[NumberedLine]) -> list[LineOutcome]:
            return []

        yield push

    with pytest.raises(asyncio.CancelledError):
        await harvest._follow(cast("Harvester", passes), open_push, 0.0)
    return opened


async def test_another_harvest_and_a_server_that_is_away_end_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    away = VaultUnavailable("the server cannot be reached")
    assert await followed(Passes(None, Conflict("another harvest is running"), None, away, None)) == [0, 4]
    assert "the server cannot be reached; trying again" in capsys.readouterr().err


async def test_what_a_retry_does_not_change_ends_it() -> None:
    with pytest.raises(StorageFull):
        await harvest._follow(cast("Harvester", Passes(StorageFull("the disk is full"))), _no_push, 0.0)


@asynccontextmanager
async def _no_push() -> AsyncIterator[Any]:
    yield None


def test_the_unit_that_is_shipped_runs_a_command_there_is() -> None:
    (line,) = [each for each in UNIT.read_text().splitlines() if each.startswith("ExecStart=")]
    command, *words = shlex.split(line.removeprefix("ExecStart="))
    assert (command, words[0]) == ("%h/.local/bin/strongroom", "harvest")
    known = set(re.findall(r"--[a-z-]+", Strongroom(ROOT)("harvest", "--help").out))
    assert {word for word in words if word.startswith("--")} <= known
    shown = (ROOT / "docs" / "transcripts.md").read_text()
    assert UNIT.read_text().partition("[Unit]")[2].strip() in shown, "the page shows another unit"

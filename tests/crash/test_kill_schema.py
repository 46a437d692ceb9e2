"""Processes killed half-way through a change of thirty notes: after the restart all of them are changed, or none."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.crash.child import Child, strace
from tests.crash.notes_oracle import Files, check, files_of, notes_of
from tests.crash.notes_work import ask, opened
from tests.crash.schema_work import MIGRATION, NOTES, SEED, work
from tests.noted import folder, put

SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A vault whose notes are all indexed, to be copied for each kill."""
    data = tmp_path / "template"
    put(folder(data), SEED)
    async with opened(data):
        pass
    return data


async def _states(template: Path) -> list[Files]:
    data = template.with_name("clean")
    shutil.copytree(template, data)
    found: list[Files] = [files_of(notes_of(data))]
    async with opened(data) as services:
        outcome = await ask(services, "schema", **MIGRATION)
        assert outcome.content["changed"] == NOTES, outcome.text
    return [*found, files_of(notes_of(data))]


async def _killed(data: Path, template: Path, kill: tuple[str, int], states: list[Files]) -> int | None:
    shutil.copytree(template, data)
    child = await asyncio.to_thread(Child, work, data, "migrate", kill)
    left = await check(data, states, child.acknowledged)
    shutil.rmtree(data)
    return left if child.killed else None


@strace
async def test_a_migration_killed_half_way_is_whole_after_the_restart(tmp_path: Path, template: Path) -> None:
    states = await _states(template)
    left = await _killed(tmp_path / "data", template, ("renameat2", NOTES // 2), states)
    assert left == 1, "the journal had begun it"


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["renameat2", "pwrite64", "fsync", "write", "openat"])
async def test_a_migration_killed_at_any_call_is_whole_or_absent(tmp_path: Path, template: Path, call: str) -> None:
    states = await _states(template)
    left = []
    for number in range(SWEEP):
        now = await _killed(tmp_path / f"{number}", template, (call, 1 + number * 3), states)
        if now is None:
            break
        left.append(now)
    assert left, "the sweep killed nothing: is the call still made?"

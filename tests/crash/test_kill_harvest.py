"""Processes killed while they harvest: the next pass goes on, nothing is lost, and nothing comes twice.

Covers vaults.domain.import_export.harvesting, vaults.transcripts.harvest_state.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child import Child, strace
from tests.crash.harvest_work import OWNER, SESSIONS, work, write_sessions
from tests.crash.notes_work import opened
from tests.crash.oracle import settled
from tests.vaults.sources.sqlite_fixtures import see_folder
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.exports import export
from vaults.domain.maintenance import verification

pytestmark = pytest.mark.crash
SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_sessions(tmp_path / "home")


async def run(data: Path, home: Path, kill: tuple[str, int] | None = None) -> bool:
    """Whether the process was killed."""
    return (await asyncio.to_thread(Child, work, data, "harvest", kill, home=str(home))).killed


async def left_in(data: Path, folder: Path) -> dict[str, Any]:
    """Every document and memory of a vault that is in order, by its external id; long documents come in several
    lines."""
    async with opened(data) as services:
        await settled(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            report = await verification.verify(vault)
            assert report.agrees, report
            await export(vault, folder, ["jsonl"])
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            kept = {name: value for name, value in line.items() if name not in ("created_at", "updated_at", "parts")}
            known = found.setdefault(line["external_id"], kept | {"parts": []})
            known["parts"] += [part["text"] for part in line.get("parts", ())]
    return found


async def check_harvest(tmp_path: Path, home: Path, kills: list[tuple[str, int]]) -> int:
    before = see_folder(home)
    assert not await run(tmp_path / "clean", home)
    whole = await left_in(tmp_path / "clean", tmp_path / "whole")
    assert sum(line.get("kind") == "document" for line in whole.values()) == SESSIONS
    assert len(whole) > 2 * SESSIONS  # and memories
    data, killed = tmp_path / "data", 0
    for number, kill in enumerate(kills):
        killed += await run(data, home, kill)
        part = await left_in(data, tmp_path / f"part{number}")
        assert part.keys() <= whole.keys()
        for name, document in part.items():
            assert document["parts"] == whole[name]["parts"][: len(document["parts"])]
    assert not await run(data, home)
    assert await left_in(data, tmp_path / "after") == whole
    assert see_folder(home) == before
    await check_undone(data, tmp_path / "undone")
    return killed


async def check_undone(data: Path, folder: Path) -> None:
    """The runs of all passes, those that were killed too, take back everything."""
    async with opened(data) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            for each in await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 100)):
                await run_undo.undo(vault, OWNER, each)
    assert await left_in(data, folder) == {}


@strace
async def test_a_harvest_that_is_killed_again_and_again_brings_every_turn_once(tmp_path: Path, home: Path) -> None:
    assert await check_harvest(tmp_path, home, [("pwrite64", 30), ("fsync", 3)]) >= 1


@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync", "fdatasync", "openat", "unlink"])
async def test_a_harvest_killed_at_any_call_goes_on(tmp_path: Path, home: Path, call: str) -> None:
    await check_harvest(tmp_path, home, [(call, 1 + point * 7) for point in range(SWEEP)])

"""Processes killed while they import or take an import back: what follows goes on from there, and nothing is half.

Covers vaults.domain.import_export.line_import, vaults.domain.import_export.run_undo.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child import Child, strace
from tests.crash.import_work import work, write_source
from tests.crash.notes_oracle import files_of, notes_of
from tests.crash.notes_work import opened
from tests.crash.oracle import settled
from vaults.domain.import_export.exports import export
from vaults.domain.maintenance import verification

SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return write_source(folder / "in.jsonl")


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


async def run(data: Path, source: Path, kind: str, kill: tuple[str, int] | None = None) -> bool:
    """Whether the process was killed."""
    child = await asyncio.to_thread(Child, work, data, kind, kill, source=str(source))
    return child.killed


async def left_in(data: Path, folder: Path) -> list[dict[str, Any]]:
    """Every record of a vault that is in order, by its external id; notes by their text."""
    async with opened(data) as services:
        await settled(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            report = await verification.verify(vault)
            assert report.agrees, report
            await export(vault, folder, ["jsonl"])
    lines = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    notes = [{"path": path, "content": str(text)} for path, text in files_of(notes_of(data)).items()]
    return [{name: line[name] for name in line if name not in ("session", "updated_at")} for line in lines] + notes


async def check_import(tmp_path: Path, source: Path, kills: list[tuple[str, int]]) -> int:
    before = digest(source.parent)
    clean, data = tmp_path / "clean", tmp_path / "data"
    assert not await run(clean, source, "import")
    whole = await left_in(clean, tmp_path / "whole")
    killed = 0
    for number, kill in enumerate(kills):
        killed += await run(data, source, "import", kill)
        part = await left_in(data, tmp_path / f"part{number}")
        assert all(line in whole for line in part)
    assert not await run(data, source, "import")
    assert sorted(map(json.dumps, await left_in(data, tmp_path / "after"))) == sorted(map(json.dumps, whole))
    assert digest(source.parent) == before
    return killed


async def check_undo(tmp_path: Path, source: Path, kills: list[tuple[str, int]]) -> int:
    data = tmp_path / "data"
    assert not await run(data, source, "import")
    killed = 0
    for number, kill in enumerate(kills):
        killed += await run(data, source, "undo", kill)
        await left_in(data, tmp_path / f"part{number}")
    assert not await run(data, source, "undo")
    assert await left_in(data, tmp_path / "after") == []
    async with opened(data) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            for table in ("import_records", "import_changes", "passages", "memory_links", "session_threads"):
                assert await vault.db.read(lambda tx, table=table: tx.value(f"SELECT COUNT(*) FROM {table}")) == 0
    return killed


@strace
async def test_an_import_that_is_killed_again_and_again_brings_every_line_once(tmp_path: Path, source: Path) -> None:
    assert await check_import(tmp_path, source, [("pwrite64", 40), ("renameat2", 3), ("fsync", 4)]) >= 2


@strace
async def test_undoing_that_is_killed_again_and_again_leaves_nothing(tmp_path: Path, source: Path) -> None:
    assert await check_undo(tmp_path, source, [("pwrite64", 60), ("unlinkat", 3), ("fsync", 3)]) >= 2


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["renameat2", "pwrite64", "fsync", "openat"])
async def test_an_import_killed_at_any_call_goes_on(tmp_path: Path, source: Path, call: str) -> None:
    assert await check_import(tmp_path, source, [(call, 1 + point * 7) for point in range(SWEEP)])


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["unlinkat", "pwrite64", "fsync", "openat"])
async def test_undoing_killed_at_any_call_goes_on(tmp_path: Path, source: Path, call: str) -> None:
    assert await check_undo(tmp_path, source, [(call, 1 + point * 7) for point in range(SWEEP)])

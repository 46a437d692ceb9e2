"""A process killed while it brings a vault of an older version up to date."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child import Child, strace
from tests.crash.continuity_work import ask, staffed, swept, work
from tests.crash.notes_work import opened
from tests.noted import folder, put
from tests.work import PATIENCE_S
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Writer
from vaults.settings import StorageSettings

SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far
LAST = 8
"""Calls at the end of a run that another one may not make."""

DATABASE = Path("vaults", "main", "vault.db")
BEFORE = 4
"""Steps of the version that knew nothing of sessions."""

MEMORIES, MOMENT = 30, "2026-01-01T00:00:00.000Z"
KEPT = "SELECT id, content, stored_by, visibility, version, created_at FROM memories ORDER BY seq"


def _rows(data: Path, statement: str) -> list[tuple[Any, ...]]:
    raw = sqlite.connect(data / DATABASE, timeout=PATIENCE_S)
    try:
        return list(raw.execute(statement))
    finally:
        raw.close()


def _plant(tx: Writer, info: list[tuple[str, str]]) -> None:
    tx.many("INSERT INTO vault_info (key, value) VALUES (?, ?)", info)
    for number in range(MEMORIES):
        row = {
            "id": f"m{number}", "type": "fact", "title": f"old {number}", "title_derived": 1, "tags": "[]",
            "content": f"old fact {number} oldword{number}", "keywords": "[]", "metadata": "{}", "stored_by": "owner",
            "author": "owner",
            "workspace": "global", "applies_to": "global", "content_hash": f"h{number}", "visibility": "shared",
            "tier": "warm", "version": 1, "created_at": MOMENT, "updated_at": MOMENT,
        }  # fmt: skip
        tx.run(f"INSERT INTO memories ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)


@pytest.fixture
async def old(tmp_path: Path) -> Path:
    """A data folder whose vault has memories and notes, and is of the version before."""
    data = tmp_path / "old"
    put(folder(data), {"plan.md": "---\nthread: move\n---\n# Plan\n\nplanword\n"})
    async with staffed(data):
        pass
    info = [(key, value) for key, value in _rows(data, "SELECT key, value FROM vault_info") if key == "vault_id"]
    for file in (data / DATABASE).parent.glob("vault.*"):
        file.unlink()
    db = Database(data / DATABASE, StorageSettings())
    await migrate(db, "vault", load_migrations("vault")[:BEFORE])
    await db.write(lambda tx: _plant(tx, info))
    await db.close()
    return data


async def _old_or_new(data: Path, before: list[tuple[Any, ...]]) -> int:
    """The number of steps a killed process left; the next opening does the rest, and everything is there."""
    done = int(_rows(data, "SELECT COUNT(*) FROM schema_steps")[0][0])
    assert BEFORE <= done <= len(load_migrations("vault"))
    for step, question in ((5, "SELECT 1 FROM sqlite_master WHERE name = 'sessions'"),
                           (5, "SELECT 1 FROM pragma_table_info('memories') WHERE name = 'anchor_commit'"),
                           (6, "SELECT 1 FROM pragma_table_info('note_links') WHERE name = 'meant'"),
                           (6, "SELECT 1 FROM sqlite_master WHERE name = 'corrections'")):  # fmt: skip
        assert bool(_rows(data, question)) == (done >= step), "half a step"
    assert _rows(data, "PRAGMA integrity_check") == [("ok",)]
    assert _rows(data, KEPT) == before
    async with opened(data) as services:
        await swept(services)
        assert (await ask(services, "ann", "session_resume")).ok
        read = (await ask(services, "ann", "memory_get", ids=["m7"])).content["memories"]
        assert read[0]["content"] == "old fact 7 oldword7"
        shown = (await ask(services, "ann", "threads", action="show", thread="move")).content
        assert "plan.md" in json.dumps(shown), "a note that said its thread before is read again"
    assert _rows(data, KEPT) == before
    return done


async def test_a_vault_of_the_version_before_opens_with_everything_in_it(old: Path) -> None:
    assert await _old_or_new(old, _rows(old, KEPT)) == BEFORE


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync"])
async def test_an_upgrade_killed_at_any_call_leaves_the_old_or_the_new(tmp_path: Path, old: Path, call: str) -> None:
    before, after = _rows(old, KEPT), len(load_migrations("vault"))
    data = tmp_path / "data"
    shutil.copytree(old, data)
    whole = await asyncio.to_thread(Child, work, data, "sweep", (call, 0))
    left: list[int] = []

    async def kill_at(point: int) -> None:
        shutil.rmtree(data)
        shutil.copytree(old, data)
        child = await asyncio.to_thread(Child, work, data, "sweep", (call, point))
        number = await _old_or_new(data, before)
        left.extend([number] if child.killed else [])

    for point in sorted({1 + round(n * (whole.calls - 1) / max(1, SWEEP - 1)) for n in range(SWEEP)}):
        await kill_at(point)
    for point in range(whole.calls - 1, max(1, whole.calls - LAST), -1):  # another run may not make the last calls
        if after in left:
            break
        await kill_at(point)
    assert {BEFORE, after} <= set(left), f"killed only before or only after: {left}"

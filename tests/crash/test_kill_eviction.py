"""Processes killed while documents go: what had gone is logged and has its copy, what had not is whole, and the next
opening does the rest. ``make crash``."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child import Child, strace
from tests.crash.eviction_work import DOCUMENTS, FLAGS, LIMIT, TURNS, fill, kept, work
from tests.crash.notes_work import ask, opened
from tests.work import PATIENCE_S
from vaults.db.engine import sqlite
from vaults.domain.maintenance import eviction_undo
from vaults.domain.maintenance.verification import verify

POINTS = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "6")))  # in two, both may fall into one state
DATABASE = Path("vaults", "main", "vault.db")


def _read(data: Path, statement: str) -> list[tuple[Any, ...]]:
    raw = sqlite.connect(data / DATABASE, timeout=PATIENCE_S)
    try:
        return list(raw.execute(statement).fetchall())
    finally:
        raw.close()


async def _left(data: Path) -> int:
    """What a killed process left is sound; the next one finishes it, and all of it comes back. How many had gone."""
    assert _read(data, "PRAGMA integrity_check") == [("ok",)]
    assert not _read(data, "PRAGMA foreign_key_check")
    states = [state for (state,) in _read(data, "SELECT state FROM evictions ORDER BY seq")]
    assert states.count("begun") <= 1
    there = {title for (title,) in _read(data, "SELECT title FROM documents")}
    assert len(there) == DOCUMENTS + 1 - states.count("gone")
    whole = _read(data, "SELECT COUNT(*) FROM document_parts GROUP BY document")
    assert sum(count != TURNS for (count,) in whole) <= states.count("begun")
    assert len(_read(data, "SELECT 1 FROM evicted_copies")) == len(states)
    async with opened(data, LIMIT) as services:
        await kept(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert {row[0] for row in _read(data, "SELECT title FROM documents")} == {
                f"transcript {DOCUMENTS - 1}", f"document {DOCUMENTS}",
            }  # fmt: skip
            assert (await verify(vault)).agrees
            assert not (await ask(services, "search", query="transcriptword0", mode="keyword")).content["hits"]
    async with opened(data, FLAGS) as services:  # under the limit it would go again
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            restored = 0
            while done := (await eviction_undo.undo(vault)).restored:  # those before the kill may be a run of their own
                restored += done
            assert restored == DOCUMENTS - 1
            assert (await ask(services, "search", query="transcriptword0", mode="keyword")).content["hits"]
            assert (await verify(vault)).agrees
    return states.count("gone")


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync"])
async def test_an_eviction_killed_at_any_call_is_gone_on_with_and_can_be_taken_back(tmp_path: Path, call: str) -> None:
    template = tmp_path / "template"
    template.mkdir()
    await fill(template)
    shutil.copytree(template, tmp_path / "count")
    whole = await asyncio.to_thread(Child, work, tmp_path / "count", "evict", (call, 0))
    assert not whole.killed
    gone: list[int] = []
    for point in sorted({1 + round(n * (whole.calls - 1) / max(1, POINTS - 1)) for n in range(POINTS)}):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "evict", (call, point))
        before = await _left(data)
        gone += [before] if child.killed else []
        shutil.rmtree(data)
    assert len(set(gone)) > 1, f"killed at one place only: {gone}"

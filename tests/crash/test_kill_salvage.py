"""Processes killed while they salvage: the damaged database or the new one is there, whole, and a new run ends it.
``make crash``."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from ops.salvage.exchange import find_kept
from server.cli.salvage import SalvageRequest, salvage_vault
from tests import harmed_vault
from tests.crash.child import Child, strace
from tests.crash.notes_work import opened
from tests.crash.salvage_work import FLAGS, work
from tests.harmed_vault import NAME, read_rows, zero_pages
from vaults import pool_rounds
from vaults.domain.maintenance.verification import verify

POINTS = int(os.environ.get("STRONGROOM_CRASH_POINTS", "6"))
DATABASE = Path("vaults", NAME, "vault.db")


def _put_aside(path: Path) -> list[bytes]:
    """The databases that were, not their logs. The second of one second has a number at the end of its name."""
    kept = (each for each in find_kept(path) if not each.name.endswith(("-wal", ".jsonl")))
    return [each.read_bytes() for each in kept]


async def _end(data: Path, damaged: bytes) -> bool:
    """What a killed process left is ended by the next run; whether the new database was in place already."""
    path = data / DATABASE
    was_new = path.read_bytes() != damaged
    assert not was_new or _put_aside(path) == [damaged]
    async with opened(data, FLAGS) as services:
        entry = services.registry_cache.entry(NAME)
        await salvage_vault(services, entry, SalvageRequest())
        async with services.pool.lease(entry) as vault:
            assert (await verify(vault)).agrees
    assert damaged in _put_aside(path)
    assert not list(path.parent.glob(".salvaging-*"))
    rows, truth = read_rows(path)["memories"], read_rows(harmed_vault.whole_vault() / "vault.db")["memories"]
    assert rows.items() < truth.items()
    assert len(rows) > len(truth) * 0.8
    return was_new


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync", "unlink", "rename", "link"])
async def test_a_salvage_killed_at_any_call_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    # The sweep would open the damaged vault, and write to it.
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 1_000.0)
    template = tmp_path / "template"
    shutil.copytree(harmed_vault.whole_data(), template)
    damaged = zero_pages(template / DATABASE)
    shutil.copytree(template, tmp_path / "count")
    whole = await asyncio.to_thread(Child, work, tmp_path / "count", "salvage", (call, 0))
    assert not whole.killed
    assert whole.calls, "the call is not made any more"
    killed = 0
    for point in sorted({1 + round(n * (whole.calls - 1) / max(1, POINTS - 1)) for n in range(POINTS)}):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "salvage", (call, point))
        killed += child.killed
        await _end(data, damaged)
        shutil.rmtree(data)
    assert whole.calls, "salvage does not make this call any more"
    assert killed, "nothing was killed"

"""Processes killed while a vault is backed up and older backups go. Sweeps: ``make crash``, with
``STRONGROOM_CRASH_POINTS`` points of each call, spread over all there are."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from ops.backup.folder_store import PARTIAL, FolderStore
from ops.backup.snapshots import list_snapshots, open_snapshot, read_head, stored_chunks
from tests.crash.backup_work import KEPT, backing_up, change, work
from tests.crash.child import Child, strace

POINTS = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")) // 2)


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A vault with as many backups as are kept, changed since the last."""
    data = tmp_path / "template"
    data.mkdir()
    for number in range(KEPT):
        async with backing_up(data) as (services, schedule):
            await change(services, number)
            assert await schedule.look() == 1
    async with backing_up(data) as (services, _):
        await change(services, KEPT)
    return data


def whole(data: Path, vault_id: str) -> list[int]:
    """The snapshots in the store, newest first; each is read to its last byte."""
    store = FolderStore(data / "to")
    found = list_snapshots(store, vault_id)
    for each in found:
        manifest = open_snapshot(store, vault_id, str(each)).extract(data / "out" / str(each))
        assert manifest.find("vault.db") is not None
    shutil.rmtree(data / "out")
    return [each.number for each in found]


async def recovered(data: Path) -> list[int]:
    """What stands after the kill; the next backup is made, and nothing is left of the one that was cut off."""
    vault_id = next((data / "to" / "vaults").iterdir()).name
    stood = whole(data, vault_id)
    assert len(stood) >= KEPT, "a good backup is gone"
    assert stood[0] >= KEPT
    async with backing_up(data) as (_, schedule):
        assert await schedule.look() == 1
    then = whole(data, vault_id)
    assert (then[0], len(then)) == (stood[0] + 1, KEPT)
    store = FolderStore(data / "to")
    named = {name for each in list_snapshots(store, vault_id) for name, _ in read_head(store, vault_id, each).chunks}
    assert stored_chunks(store, vault_id).keys() == named
    assert not list((data / "to").rglob(f"*{PARTIAL}"))
    assert not list((data / "backup-scratch").glob("scratch-*"))
    return stood


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["rename", "fsync", "unlink", "write"])
async def test_a_kill_at_any_step_of_a_backup_or_rotation_leaves_every_good_one_whole(
    tmp_path: Path, template: Path, call: str
) -> None:
    shutil.copytree(template, tmp_path / "count")
    undisturbed = await asyncio.to_thread(Child, work, tmp_path / "count", "backup", (call, 0))
    assert not undisturbed.killed
    assert undisturbed.calls, "the call is not made any more"
    points = sorted({1 + round(n * (undisturbed.calls - 1) / (POINTS - 1)) for n in range(POINTS)})
    kills, left = 0, set()
    for point in points:
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "backup", (call, point))
        kills += child.killed
        left.add(tuple(await recovered(data)))
        shutil.rmtree(data)
    assert kills, "the sweep killed nothing"

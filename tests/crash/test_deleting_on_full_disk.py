"""On a disk that another program filled, forgetting, purging and deleting notes still work."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.crash.mounts import mounting, run_on_small_disk

pytestmark = mounting
RESERVE = 2 * 1024 * 1024


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.crash)])
async def test_what_frees_room_works_on_a_full_disk_and_the_reserve_comes_back(tmp_path: Path, count: int) -> None:
    """With 400 memories there is no room to merge the text index: that is owed, and done once there is."""
    disk = tmp_path / "disk"
    command = [sys.executable, "-m", "tests.crash.deleting", str(disk / "data"), str(count)]
    *tried, last = await asyncio.to_thread(run_on_small_disk, disk, " ".join(command), size="48m")
    by_tool = {each["tool"]: each for each in tried}
    assert by_tool["before"]["reserve"] == RESERVE
    assert [each["code"] for each in tried if each["tool"] == "remember"] == ["storage_full", None]
    deletions = [each for each in tried if each["tool"] in ("memory_forget", "note_delete", "recall")]
    assert [each["code"] for each in deletions] == [None] * 15
    assert by_tool["still full"]["reserve"] == 0
    assert by_tool["room again"]["reserve"] == RESERVE
    assert last["left"] == []

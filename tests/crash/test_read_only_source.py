"""What other systems left is read from a disk that nobody can write to, and every file stays as it was."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.crash.harvest_work import SESSIONS
from tests.crash.mounts import mounting, run_on_small_disk

pytestmark = [mounting, pytest.mark.crash]


async def test_sources_on_a_disk_that_can_only_be_read_are_read_whole(tmp_path: Path) -> None:
    disk, program = tmp_path / "disk", f"{sys.executable} -m tests.crash.read_only_source"
    steps = f"{program} made {disk}", f"mount -o remount,ro {disk}", f"{program} read {disk} {tmp_path / 'state'}"
    *read, last = await asyncio.to_thread(run_on_small_disk, disk, *steps)
    assert read == [
        {"source": "jsonl", "stored": 1, "unwritten": 1},
        {"source": "moltmind", "stored": 2, "unwritten": 0},
        {"source": "chatgpt", "stored": 1, "unwritten": 0},
        {"source": "harvest", "stored": SESSIONS, "unwritten": 0},
    ]
    assert last == {"same": True}

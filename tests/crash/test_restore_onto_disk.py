"""A vault whose folder is a disk of its own is not exchanged, and its empty place is not written into."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.crash.mounts import mounting, run_on_small_disk

pytestmark = [mounting, pytest.mark.crash]


async def test_a_mounted_vault_and_its_empty_place_are_refused_by_name(tmp_path: Path) -> None:
    disk, data, program = tmp_path / "disk", tmp_path / "data", f"{sys.executable} -m tests.crash.restore_onto_disk"
    place = data / "vaults" / "main"
    steps = (
        f"{program} made {data}",
        f"cp -a {place}/. {disk}/ && rm -r {place} && mkdir {place} && mount --bind {disk} {place}",
        f"{program} restored {data}",
        f"{program} opened {data}",
        f"umount {place}",
        f"{program} restored {data}",
        f"rm -r {place}",
        f"{program} restored {data}",
    )
    said = await asyncio.to_thread(run_on_small_disk, disk, *steps, size="64m")
    assert said == [
        {"made": True},
        {"refused": "fixed_place", "as before": True},
        {"holds": ["the harbour closes at nine"]},
        {"refused": "empty_place", "as before": True},
        {"holds": ["the harbour closes at nine"]},
    ]

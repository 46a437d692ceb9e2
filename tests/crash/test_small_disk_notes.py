"""Notes on a disk without space, and on one that can only be read: nothing is lost, and reading goes on."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.crash.mounts import mounting, run_on_small_disk

pytestmark = mounting


def _step(kind: str, data: Path, *more: str) -> str:
    return " ".join([sys.executable, "-m", "tests.crash.small_disk", kind, str(data), *more])


async def _filled(tmp_path: Path, amounts: list[int]) -> None:
    data = tmp_path / "disk" / "data"
    steps = _step("made", data), _step("full", data, *map(str, amounts))
    tried = await asyncio.to_thread(run_on_small_disk, tmp_path / "disk", *steps)
    assert {each["code"] for each in tried} <= {None, "storage_full"}
    assert {each["code"] for each in tried} > {None}
    for each in tried:
        assert each["searched"], each
        assert each["read"], each
        # What rewrites a note and finds no space for its row may have to wait for space until its files are as they
        # were: ``kept`` says that they are then. A move rewrites the link of its note to itself.
        assert each["same"] == (each["code"] is not None) or each["tool"] in ("note_edit", "note_move", "schema"), each
        assert each["kept"], "what was refused stands, or what was said to be done does not"
        assert each["again"] is None, "it does not work again with space"


async def test_a_change_that_finds_no_space_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    await _filled(tmp_path, [0, 48, 1024])


@pytest.mark.crash
async def test_a_change_is_whole_or_refused_with_any_space_left(tmp_path: Path) -> None:
    await _filled(tmp_path, [*range(0, 64, 4), 96, 128, 192, 256, 384, 512, 1024])


async def test_notes_on_a_disk_that_can_only_be_read_are_read_and_searched(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    lock = f"mount -o remount,ro {disk}"
    tried = await asyncio.to_thread(
        run_on_small_disk, disk, _step("made", disk / "data"), lock, _step("locked", disk / "data")
    )
    assert [each["code"] for each in tried] == ["read_only"] * 5
    assert all(each["same"] and each["read"] and each["searched"] for each in tried)

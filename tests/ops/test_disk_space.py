"""Room on disks is told again and again, by each disk for itself, and one that does not answer tells no figure."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from ops import disk_space
from ops.disk_space import Disk, keep_reading, written_folders
from tests.work import PATIENCE_S
from vaults.background_defects import BackgroundDefects
from vaults.observer import NullObserver


class Told:
    """What was told of each disk, as it comes."""

    def __init__(self) -> None:
        self.rooms: asyncio.Queue[tuple[str, float, float]] = asyncio.Queue()

    def __call__(self, name: str, free: float, size: float) -> None:
        self.rooms.put_nowait((name, free, size))

    async def next(self) -> tuple[str, float, float]:
        return await asyncio.wait_for(self.rooms.get(), PATIENCE_S)


@pytest.fixture
def defects() -> BackgroundDefects:
    return BackgroundDefects(NullObserver())


@pytest.mark.parametrize(
    ("backups", "disks"), [(None, ["data"]), ("s3://bucket/there", ["data"]), ("/mnt/usb", ["data", "backups"])]
)
def test_disks_that_may_fill_are_those_of_folders(tmp_path: Path, backups: str | None, disks: list[str]) -> None:
    assert list(written_folders(tmp_path, backups)) == disks


async def test_what_is_told_is_what_the_system_says_of_the_disk(tmp_path: Path, defects: BackgroundDefects) -> None:
    told, system = Told(), os.statvfs(tmp_path)
    async with keep_reading({"data": tmp_path}, told, defects):
        name, free, size = await told.next()
    assert (name, size) == ("data", system.f_blocks * system.f_frsize)
    assert 0 < free <= size


async def test_it_is_told_again_and_by_nobody_after_the_end(
    tmp_path: Path, defects: BackgroundDefects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "LOOK_S", 0)
    told = Told()
    async with keep_reading({"data": tmp_path}, told, defects):
        assert [(await told.next())[0] for _ in range(3)] == ["data"] * 3
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("disk-space")] == []


async def test_a_folder_that_is_not_there_has_no_figure_until_it_is(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "share")
    assert all(map(math.isnan, await disk.room()))
    (tmp_path / "share").mkdir()
    assert (await disk.room())[1] > 0
    (tmp_path / "share").rmdir()
    assert all(map(math.isnan, await disk.room())), "what was read before is not told for now"
    disk.close()


async def test_a_disk_that_hangs_has_no_figure_and_holds_up_no_other(
    tmp_path: Path, defects: BackgroundDefects, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, read = threading.Event(), shutil.disk_usage

    def hanging(folder: Path) -> Any:
        if folder.name == "share":
            answers.wait(PATIENCE_S)
        return read(folder)

    monkeypatch.setattr(disk_space.shutil, "disk_usage", hanging)
    told = Told()
    (tmp_path / "share").mkdir()
    hung = Disk(tmp_path / "share", patience_s=0.01)
    try:
        async with keep_reading({"backups": tmp_path / "share", "data": tmp_path}, told, defects):
            assert (await told.next())[0] == "data"
        assert all(map(math.isnan, await hung.room()))
    finally:
        answers.set()
        hung.close()

"""The file that keeps room for deleting."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaults import disk_reserve
from vaults.disk_reserve import MB, RESERVE_FILE, DiskReserve
from vaults.settings import StorageSettings


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes the disk says are free: its last item."""
    told = [100 * MB]
    monkeypatch.setattr(disk_reserve, "free_bytes", lambda _: told[-1])
    return told


def held(folder: Path) -> int:
    """Bytes really taken on the disk."""
    return (folder / RESERVE_FILE).stat().st_blocks * 512 if (folder / RESERVE_FILE).exists() else 0


def test_it_takes_real_room_and_gives_it_up(tmp_path: Path, free: list[int]) -> None:
    kept = DiskReserve(tmp_path, StorageSettings(reserve_mb=4))
    kept.keep()
    kept.keep()
    assert held(tmp_path) == kept.size == MB
    assert not kept.is_needed()
    free.append(MB - 1)
    assert kept.is_needed()
    kept.give_up()
    assert held(tmp_path) == 0


def test_it_is_made_again_only_where_writes_go_on_besides(tmp_path: Path, free: list[int]) -> None:
    kept = DiskReserve(tmp_path, StorageSettings(reserve_mb=4))
    free.append(5 * MB - 1)
    kept.keep()
    assert held(tmp_path) == 0
    free.append(5 * MB)
    kept.keep()
    assert held(tmp_path) == MB


def test_one_of_another_size_is_made_anew(tmp_path: Path, free: list[int]) -> None:
    DiskReserve(tmp_path, StorageSettings(reserve_mb=8)).keep()
    DiskReserve(tmp_path, StorageSettings(reserve_mb=4)).keep()
    assert held(tmp_path) == MB


def test_without_a_reserve_no_file_is_made(tmp_path: Path, free: list[int]) -> None:
    DiskReserve(tmp_path, StorageSettings(reserve_mb=0)).keep()
    assert not (tmp_path / RESERVE_FILE).exists()


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    kept = DiskReserve(tmp_path / "gone", StorageSettings(reserve_mb=4))
    kept.keep()
    kept.give_up()

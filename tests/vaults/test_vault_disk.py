"""Writes are refused where the files are gone or the disk is full; a deletion gets the reserve."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from vaults import disk_reserve, vault_disk
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.disk_reserve import MB, RESERVE_FILE, DiskReserve
from vaults.errors import StorageFull, VaultQuarantined
from vaults.settings import StorageSettings
from vaults.vault_disk import VaultDisk


async def test_the_same_file_at_the_same_place_is_asked_for(tmp_path: Path) -> None:
    settings = StorageSettings(reserve_mb=0)
    db = Database(tmp_path / "vault.db", settings)
    disk = VaultDisk("main", tmp_path, db, DiskReserve(tmp_path, settings), settings)
    with pytest.raises(VaultQuarantined, match="missing"):
        disk.identify()
    await migrate(db, "vault")
    disk.identify()
    disk.check_writable()
    db.path.rename(tmp_path / "moved.db")
    with pytest.raises(VaultQuarantined, match="moved or deleted"):
        disk.check_in_place()
    db.path.write_bytes(b"another")
    with pytest.raises(VaultQuarantined, match="moved or deleted"):
        disk.check_writable()
    await db.close()


async def test_on_a_full_disk_only_what_frees_room_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = StorageSettings(reserve_mb=4)
    db, reserve = Database(tmp_path / "vault.db", settings), DiskReserve(tmp_path, settings)
    await migrate(db, "vault")
    reserve.keep()
    disk = VaultDisk("main", tmp_path, db, reserve, settings)
    disk.identify()
    for module in (disk_reserve, vault_disk):
        monkeypatch.setattr(module, "free_bytes", lambda _: MB - 1)
    with pytest.raises(StorageFull):
        disk.check_writable()
    await disk.make_room()
    assert (tmp_path / RESERVE_FILE).stat().st_size == 0
    await db.close()


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[VaultDisk]:
    settings = StorageSettings(reserve_mb=4, min_free_disk="100MB")
    db = Database(tmp_path / "vault.db", settings)
    await migrate(db, "vault")
    disk = VaultDisk("main", tmp_path, db, DiskReserve(tmp_path, settings), settings)
    disk.identify()
    yield disk
    await db.close()


async def test_disk_guard_low_what_could_wait_is_skipped_and_said(
    guarded: VaultDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_disk, "free_bytes", lambda _: 50 * MB)
    with pytest.raises(StorageFull, match="less than 100MB of the disk are free; nothing was written"):
        guarded.check_writable_in_bulk()
    guarded.check_writable()
    assert not guarded.has_room_in_bulk()


async def test_disk_guard_enough_everything_goes_on(guarded: VaultDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_disk, "free_bytes", lambda _: 100 * 10**6)
    guarded.check_writable_in_bulk()
    assert guarded.has_room_in_bulk()


async def test_disk_guard_no_statfs_is_said_once_and_everything_else_goes_on(
    guarded: VaultDisk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    disk_reserve._say_unknown.cache_clear()

    def unknown(_: object) -> object:
        raise OSError("not implemented")

    monkeypatch.setattr("os.statvfs", unknown)
    for _ in range(3):
        guarded.check_writable_in_bulk()
        assert guarded.has_room_for(10**15)
    assert [record.message for record in caplog.records] == [
        "the free space of the disk cannot be read: disk safety checks are off, everything else goes on"
    ]
    monkeypatch.delattr("os.statvfs")
    guarded.check_writable_in_bulk()
    disk_reserve._say_unknown.cache_clear()

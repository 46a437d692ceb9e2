"""Writes are refused where the files are gone or the disk is full; a deletion gets the reserve."""

from __future__ import annotations

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

"""The disk under an open vault: whether its files are in place, may be written, and have room."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from vaults import database_checks
from vaults.db.connection import Database
from vaults.disk_reserve import MB, DiskReserve, free_bytes
from vaults.errors import ReadOnly, StorageFull, VaultQuarantined
from vaults.settings import StorageSettings


class VaultDisk:
    """Asked before every write; each check is a system call or two."""

    def __init__(self, name: str, folder: Path, db: Database, reserve: DiskReserve, settings: StorageSettings) -> None:
        self._name = name
        self._folder = folder
        self._db = db
        self._reserve = reserve
        self._left_free = settings.reserve_mb * MB
        self._identity: tuple[int, int] | None = None

    def identify(self) -> None:
        """Remember which file the database is. Raises ``VaultQuarantined`` if it is missing or empty."""
        self._identity = database_checks.file_identity(self._db.path, self._name)

    def check_writable(self) -> None:
        """Call before a write. As ``check_in_place``; also raises ``StorageFull`` while less is free than the reserve
        that lets owners delete and recover."""
        self.check_in_place()
        if not self.has_room_for(0):
            raise StorageFull("the disk is nearly full; nothing was written", hint="free space; reading still works")

    def check_in_place(self) -> None:
        """Call before a write that frees space. Raises ``VaultQuarantined`` when the files were moved or deleted: a
        database that lost its name would accept writes and lose them. Raises ``ReadOnly`` on a read-only file system.
        """
        if not self._is_in_place():
            raise VaultQuarantined(
                f"the files of vault {self._name} were moved or deleted", hint="restore a backup", reason="missing"
            )
        if os.statvfs(self._folder).f_flag & os.ST_RDONLY:
            raise ReadOnly("the vault's files cannot be written", hint="the operator must check mount and owner")

    def has_room_for(self, size: int) -> bool:
        """Whether ``size`` bytes can be written and the space that stays free is not touched."""
        return free_bytes(self._folder) >= self._left_free + size

    async def make_room(self) -> None:
        """Call before a write that deletes. As ``check_in_place``; on a full disk also gives the reserve up and empties
        the WAL, whose pages take room twice."""
        self.check_in_place()
        if self._reserve.is_needed():
            self._reserve.give_up()
            with contextlib.suppress(StorageFull):
                await self._db.checkpoint()

    def _is_in_place(self) -> bool:
        try:
            found = self._db.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

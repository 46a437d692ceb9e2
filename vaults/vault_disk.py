"""The disk under an open vault: whether its files are in place, may be written, and have room."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from vaults import database_checks
from vaults.db.connection import Database
from vaults.disk_reserve import MB, DiskReserve, free_bytes
from vaults.durations import parse_size
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
        self._min_free = settings.min_free_disk
        self._left_by_bulk = max(self._left_free, parse_size(self._min_free))
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

    def check_writable_in_bulk(self) -> None:
        """Call before work that writes much and could wait: harvests, imports, files, reindexing. As
        ``check_writable``, but it leaves ``storage.min_free_disk`` to what people and agents store themselves. Raises
        ``StorageFull``."""
        self.check_writable()
        if not self.has_room_in_bulk():
            raise StorageFull(
                f"less than {self._min_free} of the disk are free; nothing was written",
                hint="free space, or lower storage.min_free_disk; single memories and notes are still stored",
            )

    def check_in_place(self) -> None:
        """Call before a write that frees space. Raises ``VaultQuarantined`` when the files were moved or deleted: a
        database that lost its name would accept writes and lose them. Raises ``ReadOnly`` on a read-only file system.
        """
        if not self._is_in_place():
            raise VaultQuarantined(
                f"the files of vault {self._name} were moved or deleted", hint="restore a backup", reason="missing"
            )
        if _is_read_only(self._folder):
            raise ReadOnly("the vault's files cannot be written", hint="the operator must check mount and owner")

    def has_room_for(self, size: int) -> bool:
        """Whether ``size`` bytes can be written and the space that stays free is not touched, as far as the system says
        how much there is."""
        return self._has_free(self._left_free + size)

    def has_room_in_bulk(self) -> bool:
        """Whether work that writes much and could wait may go on."""
        return self._has_free(self._left_by_bulk)

    def _has_free(self, least: int) -> bool:
        free = free_bytes(self._folder)
        return free is None or free >= least

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


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # then a write tells
        return False

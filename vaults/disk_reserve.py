"""A file that only keeps room: given up when the disk is full, so that a deletion can free more.

SQLite writes in order to delete, so on a disk that other programs filled nothing could be deleted. One file serves all
vaults of a data folder; a folder served in place, which may lie on another disk, has its own.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from vaults.errors import StorageFull
from vaults.settings import StorageSettings

_log = logging.getLogger(__name__)

RESERVE_FILE = ".reserve"
MB = 1024 * 1024
SHARE = 4
"""The file takes ``storage.reserve_mb`` divided by this; all of ``reserve_mb`` is left free besides."""


class DiskReserve:
    """The file in ``folder``. Every method blocks for a few system calls; several processes may share it."""

    def __init__(self, folder: Path, settings: StorageSettings) -> None:
        self._path = folder / RESERVE_FILE
        self._left_free = settings.reserve_mb * MB
        self.size = self._left_free // SHARE

    def keep(self) -> None:
        """Make the file, or make it again, once there is room for it besides what is left free."""
        with suppress(OSError):  # the disk cannot be written, or is full after all: tried again later
            if self._is_whole() or not self.size:
                return
            free = free_bytes(self._path.parent)
            if free is None or free < self._left_free + self.size:
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                self._fill(descriptor)
            finally:
                os.close(descriptor)

    def give_up(self) -> None:
        """Free its room."""
        with suppress(OSError):
            os.truncate(self._path, 0)

    def is_needed(self) -> bool:
        """Whether less is free than the size of the file."""
        free = free_bytes(self._path.parent)
        return free is not None and free < self.size

    def _is_whole(self) -> bool:
        try:
            return self._path.stat().st_size == self.size
        except FileNotFoundError:
            return False

    def _fill(self, descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        try:
            os.posix_fallocate(descriptor, 0, self.size)
        except OSError:
            os.ftruncate(descriptor, 0)
            raise


def free_bytes(folder: Path) -> int | None:
    """What this process may still write on the disk of ``folder``; None where the system does not say, which is logged
    once: checks of the disk are off there, and everything else goes on."""
    try:
        disk = os.statvfs(folder)
    except (AttributeError, OSError):  # a system without it, or a file system that does not answer
        _say_unknown()
        return None
    return disk.f_bavail * disk.f_frsize


def require_room(folder: Path, size: int, settings: StorageSettings, what: str) -> None:
    """Raise ``StorageFull``, which says how many bytes are needed and free, unless the disk of ``folder`` has room for
    ``size`` bytes besides those that stay free."""
    free, needed = free_bytes(folder), size + settings.reserve_mb * MB
    if free is not None and free < needed:
        raise StorageFull(
            f"{what} needs {needed:,} bytes of free disk; {free:,} are free",
            hint="free space on that disk; nothing was changed",
            needed_bytes=needed,
            free_bytes=free,
        )


@cache
def _say_unknown() -> None:
    _log.warning("the free space of the disk cannot be read: disk safety checks are off, everything else goes on")

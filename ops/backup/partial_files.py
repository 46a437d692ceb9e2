"""Files being written under a name that says so, and what killed writers left of them."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vaults.files.atomic import sync_folder
from vaults.files.writes.renames import FolderEntry, rename_exclusive

SUFFIX = ".partial"

_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}
"""Answers of a mounted bucket or a stick, whose renames know nothing but their two names."""


@dataclass(frozen=True, slots=True)
class PartialFile:
    """A file under a temporary name, open for writing; its kernel lock dies with this process."""

    path: Path
    descriptor: int

    def sync(self) -> None:
        """Bring it to the disk, and have later readers read it from there."""
        os.fsync(self.descriptor)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def publish(self, name: str) -> Path:
        """Give it its name, durably. It must be synced. Raises ``FileExistsError`` where something has that name."""
        target = self.path.with_name(name)
        self._rename(target)
        try:
            sync_folder(target.parent)
        except OSError:
            with suppress(OSError):
                target.unlink()
            raise
        return target

    def _rename(self, target: Path) -> None:
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            rename_exclusive(FolderEntry(folder, self.path.name), FolderEntry(folder, target.name))
        except OSError as failure:
            if failure.errno not in _NO_LINKS:
                raise
            if target.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            self.path.rename(target)
        finally:
            os.close(folder)


@contextmanager
def open_partial(folder: Path, name: str) -> Iterator[PartialFile]:
    """A new file in ``folder``, to be named ``name`` once it is whole. Unless it was published, it goes at the end."""
    path, descriptor = _claim(folder, name)
    try:
        yield PartialFile(path, descriptor)
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _claim(folder: Path, name: str) -> tuple[Path, int]:
    while True:
        path = folder / f".{name}.{secrets.token_hex(4)}{SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # a file system without locks: leftovers then stay until somebody removes them
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)  # swept between its creation and its lock


def sweep_partials(folder: Path) -> int:
    """Remove what processes that are gone left in ``folder``; returns how many."""
    swept = 0
    for path in folder.iterdir():
        if path.name.startswith(".") and path.name.endswith(SUFFIX):
            with suppress(OSError):
                swept += _remove_orphan(path)
    return swept


def _remove_orphan(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)
    return True

"""Erasing a folder so that nothing of it can be read from the disk afterwards, as far as a program can see to that.

Each file is overwritten and synced before its name goes. A file system that writes elsewhere (copy on write, snapshots,
flash that levels wear) may keep the old blocks: that is between the operator and the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vaults.errors import ReadOnly
from vaults.files.atomic import sync_folder, write_all
from vaults.files.failures import disk_failure

BLOCK = 1 << 20
_ZEROS = memoryview(bytes(BLOCK))
_ATTEMPTS = 4
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def erase_folder(folder: Path) -> None:
    """Overwrite and remove every file below a folder, then the folder; nothing happens if it is gone. It may itself be
    a link, by which an operator chose the disk: the folder it names stays, empty. Links below are removed, never
    followed. A file with another name elsewhere only loses this one: that other is not ours. Two at once do no harm.
    Blocking. Raises ``StorageFull``, ``ReadOnly``; then what is left can be erased later."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        for _ in range(_ATTEMPTS):
            _erase_below(descriptor)
            if _is_removed(folder):
                break
        else:
            raise _not_erased()
    except OSError as failure:
        raise disk_failure(failure) or _not_erased() from failure
    finally:
        os.close(descriptor)
    sync_folder(folder.parent)


def _is_removed(folder: Path) -> bool:
    """False: something came into it meanwhile, as a lock of who waits to have the folder alone."""
    try:
        with suppress(FileNotFoundError):
            if folder.is_symlink():
                folder.unlink()
            else:
                folder.rmdir()
    except OSError as failure:
        if failure.errno != errno.ENOTEMPTY:
            raise
        return False
    return True


def erase_file(path: Path) -> None:
    """Overwrite and remove one file; nothing happens if it is gone. Blocking. Raises ``StorageFull``, ``ReadOnly``."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(FileNotFoundError):
                _erase_file(folder, path.name)
        finally:
            os.close(folder)
    except OSError as failure:
        raise disk_failure(failure) or _not_erased() from failure


def _erase_below(folder: int) -> None:
    with os.scandir(folder) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        with suppress(FileNotFoundError):  # another process erases it too
            if is_folder:
                _erase_subfolder(folder, name)
            else:
                _erase_file(folder, name)


def _erase_subfolder(folder: int, name: str) -> None:
    deeper = os.open(name, _FOLDER, dir_fd=folder)
    try:
        _erase_below(deeper)
    finally:
        os.close(deeper)
    os.rmdir(name, dir_fd=folder)


def _erase_file(folder: int, name: str) -> None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_size:
        if not status.st_mode & stat.S_IWUSR:  # objects of Git are
            os.chmod(name, 0o600, dir_fd=folder)
        descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            _overwrite(descriptor, status.st_size)
        finally:
            os.close(descriptor)
    os.unlink(name, dir_fd=folder)


def _overwrite(descriptor: int, size: int) -> None:
    for begin, end in _written_parts(descriptor, size):
        os.lseek(descriptor, begin, os.SEEK_SET)
        for start in range(begin, end, BLOCK):
            write_all(descriptor, _ZEROS[: min(BLOCK, end - start)])
    os.fsync(descriptor)


def _written_parts(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file holds anything: to write over its holes would fill the disk."""
    end = 0
    try:
        while end < size:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, begin, os.SEEK_HOLE)
            yield begin, end
    except OSError as failure:
        if failure.errno != errno.ENXIO:  # ENXIO: nothing but a hole is left
            yield end, size


def _not_erased() -> ReadOnly:
    return ReadOnly("not every file of the vault could be erased", hint="the operator must check their owner and mode")

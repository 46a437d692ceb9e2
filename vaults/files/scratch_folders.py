"""Folders in which something is put together: private, and gone afterwards, also after a kill."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vaults.files.permissions import FILE_MODE, FOLDER_MODE, make_private_folder

PREFIX = "scratch-"
_LOCK = ".lock"


@contextmanager
def scratch_folder(parent: Path, prefix: str = PREFIX) -> Iterator[Path]:
    """An empty folder below ``parent``. What dead processes left there is cleared first: each holds a kernel lock as
    long as it lives. ``OSError`` passes."""
    make_private_folder(parent)
    sweep_scratch(parent, prefix)
    folder, descriptor = _claim(parent, prefix)
    try:
        folder.mkdir(FOLDER_MODE)
        yield folder
    finally:
        _clear(folder)
        os.close(descriptor)


def sweep_scratch(parent: Path, prefix: str = PREFIX) -> None:
    """Remove what dead processes left below ``parent``: it may hold what was deleted since. What cannot be removed now
    is tried again by the next sweep."""
    for lock in parent.glob(f"{prefix}*{_LOCK}"):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # it has just gone, or is nobody's lock
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _clear(Path(str(lock).removesuffix(_LOCK)))
        except OSError:
            continue  # it is alive
        finally:
            os.close(descriptor)


def _clear(folder: Path) -> None:
    """The lock goes last: a folder without one would be swept by nobody."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        with suppress(OSError):
            Path(f"{folder}{_LOCK}").unlink()


def _claim(parent: Path, prefix: str) -> tuple[Path, int]:
    """A name, and the lock that says somebody lives behind it: the lock comes first, so a kill leaves no folder
    without one."""
    while True:
        folder = parent / f"{prefix}{secrets.token_hex(8)}"
        descriptor = os.open(
            f"{folder}{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return folder, descriptor
        os.close(descriptor)  # swept between its creation and its lock

"""Folders in which a backup is put together: private, and gone afterwards."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vaults.errors import Conflict
from vaults.files.permissions import FILE_MODE, FOLDER_MODE, make_private_folder

_PREFIX, _LOCK = "scratch-", ".lock"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """An empty folder below ``parent``. What dead processes left there is cleared first: each holds a kernel lock as
    long as it lives."""
    make_private_folder(parent)
    _sweep(parent)
    folder, descriptor = _claim(parent)
    try:
        folder.mkdir(FOLDER_MODE)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        Path(f"{folder}{_LOCK}").unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def turn(parent: Path, whose: str) -> Iterator[None]:
    """One backup of a vault at a time, in whatever process. Raises ``Conflict`` for the second."""
    make_private_folder(parent)
    descriptor = os.open(parent / f"turn-{whose}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("a backup of this vault is being made", hint="wait until it is done") from None
        yield
    finally:
        os.close(descriptor)


def _claim(parent: Path) -> tuple[Path, int]:
    """A name, and the lock that says somebody lives behind it: the lock comes first, so a kill leaves no folder
    without one."""
    while True:
        folder = parent / f"{_PREFIX}{secrets.token_hex(8)}"
        descriptor = os.open(
            f"{folder}{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return folder, descriptor
        os.close(descriptor)  # swept between its creation and its lock


def _sweep(parent: Path) -> None:
    for lock in parent.glob(f"{_PREFIX}*{_LOCK}"):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(str(lock).removesuffix(_LOCK), ignore_errors=True)
            lock.unlink(missing_ok=True)
        except BlockingIOError:
            continue  # it is alive
        finally:
            os.close(descriptor)

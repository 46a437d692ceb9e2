"""Folders in which a backup is put together: private, and gone afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vaults.files.permissions import FILE_MODE, make_private_folder

_PREFIX, _LOCK = "scratch-", ".lock"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """An empty folder below ``parent``. What dead processes left there is cleared first: each holds a kernel lock as
    long as it lives."""
    make_private_folder(parent)
    _sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    descriptor = os.open(f"{folder}{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        Path(f"{folder}{_LOCK}").unlink(missing_ok=True)
        os.close(descriptor)


def _sweep(parent: Path) -> None:
    for lock in parent.glob(f"{_PREFIX}*{_LOCK}"):
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(str(lock).removesuffix(_LOCK), ignore_errors=True)
            lock.unlink(missing_ok=True)
        except BlockingIOError:
            continue  # it is alive
        finally:
            os.close(descriptor)

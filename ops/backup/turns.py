"""One backup of a vault at a time, in whatever process, and who is at it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vaults import clock
from vaults.errors import Conflict
from vaults.files.permissions import FILE_MODE, make_private_folder

SCRATCH_FOLDER = "backup-scratch"
"""In the data folder: where backups are put together, and where whose turn it is stands."""

CONTROL_TURN = "control"
"""Whose turn it is where the installation is backed up."""

_TRIES, _LOOK_S = 3, 0.005

_LONGEST = 40
"""Bytes of a stored moment, and some."""


@contextmanager
def turn(parent: Path, whose: str) -> Iterator[None]:
    """Have the turn. Its file says since when. Raises ``Conflict`` for the second."""
    make_private_folder(parent)
    descriptor = os.open(_file(parent, whose), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    try:
        if not any(_try_lock(descriptor) for _ in range(_TRIES)):
            raise Conflict("a backup of this vault is being made", hint="wait until it is done")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, clock.now().encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_LOOK_S)  # somebody who only looks holds it no longer than that
        return False
    return True


def under_way_since(parent: Path, whose: str) -> str | None:
    """When the backup began that is being made, by whatever process; None where there is none."""
    try:
        descriptor = os.open(_file(parent, whose), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # none was ever made
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, _LONGEST, 0).decode("ascii", "replace") or None
    finally:
        os.close(descriptor)
    return None


def _file(parent: Path, whose: str) -> Path:
    return parent / f"turn-{whose}"

"""Making files durable: a whole folder at once, and a large file while it is written."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable
from pathlib import Path

_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ESPIPE}
"""Answers of a file system that does not know a call; the sync at the end does all of it then."""


def sync_tree(folder: Path) -> None:
    """Make every file and name below ``folder`` durable. Blocking. One call for the disk the folder is on, which takes
    less than one for each of ten thousand files; each by itself where the system has none."""
    sync_disk = _sync_disk_call()
    if sync_disk is not None:
        _with_descriptor(folder, sync_disk)
        return
    for where, _, names in os.walk(folder, topdown=False):
        for path in (*(Path(where, name) for name in names), Path(where)):
            _with_descriptor(path, os.fsync)


def _with_descriptor(path: Path, work: Callable[[int], object]) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        work(descriptor)
    finally:
        os.close(descriptor)


@functools.cache
def _sync_disk_call() -> Callable[[int], None] | None:
    """``syncfs``; None where the C library has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if function is None:
        return None
    function.argtypes, function.restype = (ctypes.c_int,), ctypes.c_int

    def call(descriptor: int) -> None:
        if function(descriptor):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    return call


WINDOW = 4 << 20
"""Bytes that are on their way to the disk at a time: whoever else waits for it waits for so much at most."""

_WAIT_BEFORE, _WRITE, _WAIT_AFTER = 1, 2, 4


class WriteBehind:
    """Has a file that is written from its beginning to its end go to the disk meanwhile, and not all at its end, when
    every other write would have to wait for it. Does nothing where the system has no call for that. ``late``: bytes
    that may not be in the file yet when they are noted."""

    def __init__(self, descriptor: int, late: int = 0) -> None:
        self._descriptor = descriptor
        self._written, self._begun = -late, 0

    def note(self, count: int) -> None:
        """Call after ``count`` bytes were written. ``OSError`` passes."""
        self._written += count
        sync_range = _sync_range_call()
        while sync_range is not None and self._written - self._begun >= WINDOW:
            if self._begun:
                sync_range(self._descriptor, self._begun - WINDOW, WINDOW, _WAIT_BEFORE | _WRITE | _WAIT_AFTER)
            sync_range(self._descriptor, self._begun, WINDOW, _WRITE)
            self._begun += WINDOW


@functools.cache
def _sync_range_call() -> Callable[[int, int, int, int], None] | None:
    """``sync_file_range``; None where the C library has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "sync_file_range", None)
    if function is None:
        return None
    function.argtypes, function.restype = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint), ctypes.c_int

    def call(descriptor: int, at: int, count: int, flags: int) -> None:
        if function(descriptor, at, count, flags) and (code := ctypes.get_errno()) not in _UNKNOWN:
            raise OSError(code, os.strerror(code))

    return call

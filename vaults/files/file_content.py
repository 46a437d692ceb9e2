"""Reading one file whole, as one version, without ever waiting for a pipe or a device."""

from __future__ import annotations

import os
import stat

from vaults.errors import TooLarge
from vaults.files.failures import not_a_file_error
from vaults.files.file_stamps import FileContent, regular_file_at, stamp_of

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ATTEMPTS = 4
_PIECE = 1 << 20


def read_file(folder: int, name: str, path: str, limit: int) -> FileContent:
    """The bytes of ``name`` in ``folder``, at most ``limit`` of them, and their version.

    A file that is written to meanwhile is read again; if that goes on, the version returned is outdated, so that no
    edit based on these bytes counts as current. Raises TooLarge, InvalidArgument; ``OSError`` passes.
    """
    regular_file_at(folder, name, path)  # before opening: opening a device can have effects
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        for attempt in range(_ATTEMPTS):
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise not_a_file_error(path, before.st_mode)
            if attempt:
                os.lseek(descriptor, 0, os.SEEK_SET)
            data = b"" if before.st_size > limit else read_up_to(descriptor, limit + 1)
            if max(before.st_size, len(data)) > limit:
                raise TooLarge(f"'{path}' is larger than {limit} bytes", path=path, limit_bytes=limit)
            stamp = stamp_of(before)
            if stamp.size == len(data) and stamp_of(os.fstat(descriptor)).same(stamp):
                break
        return FileContent(data, stamp)
    finally:
        os.close(descriptor)


def read_up_to(descriptor: int, limit: int) -> bytes:
    """From where the descriptor stands to the end, at most ``limit`` bytes."""
    data = os.read(descriptor, min(limit, os.fstat(descriptor).st_size + 1))
    pieces, left = [data], limit - len(data)
    while data and left > 0:
        data = os.read(descriptor, min(left, _PIECE))
        pieces.append(data)
        left -= len(data)
    return pieces[0] if not pieces[1:] else b"".join(pieces)

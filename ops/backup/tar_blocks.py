"""The few forms of tar blocks an archive is made of: exactly one header for a member, and how an archive ends. Pure.

Whoever reads an archive builds the header that must stand there and compares; no header is ever interpreted, so there
is no link, device, sparse file or second name to fall for.
"""

from __future__ import annotations

import tarfile

from vaults.errors import InvalidArgument

BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)


def header(path: str, size: int, at: int) -> bytes:
    """The header of a regular file; ``at``: seconds since 1970."""
    info = tarfile.TarInfo(path)
    info.size, info.mtime, info.mode = size, at, 0o600
    return info.tobuf(tarfile.PAX_FORMAT)


def padding(size: int) -> int:
    """Bytes that follow a file of this size."""
    return -size % BLOCK


def read_first(block: bytes, path: str) -> tuple[int, int]:
    """Size and time that a header says which must be that of ``path``, a short name. Raises ``InvalidArgument``."""
    try:
        size, at = int(block[124:135], 8), int(block[136:147], 8)
    except ValueError:
        size = at = -1
    if size < 0 or block != header(path, size, at):
        raise InvalidArgument("archive", "is no backup of strongroom")
    return size, at

"""Copying one file of a folder that other programs write to, as one version of it."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

from ops.backup.manifest import ManifestMember
from ops.backup.pace import Pace
from vaults.files.atomic import write_all
from vaults.files.file_stamps import stamp_of, status_at

PIECE = 1 << 20
ATTEMPTS = 8
"""Times a file is read that is written to meanwhile."""

_RACY_NS = 20_000_000
"""A file changed so shortly ago may change again without its time telling: file systems count in ticks."""

_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotAFile(Exception):
    """A link, a pipe, a device or a folder: never read."""


class Restless(Exception):
    """The file was written to whenever it was read. ``member`` is what the last reading found, which is there."""

    def __init__(self, member: ManifestMember) -> None:
        super().__init__()
        self.member = member


def copy_file(folder: int, name: str, to: Path, path: str, pace: Pace) -> ManifestMember:
    """Copy ``name`` in the open folder to the new file ``to``, to be the member ``path``. Raises ``NotAFile``,
    ``Restless``, ``Cancelled``; ``OSError`` passes."""
    if not stat.S_ISREG(status_at(folder, name).st_mode):  # before opening: opening a device can have effects
        raise NotAFile
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    source = os.open(name, _SOURCE, dir_fd=folder)
    try:
        target = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            return _copy_at_rest(source, target, path, pace)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _copy_at_rest(source: int, target: int, path: str, pace: Pace) -> ManifestMember:
    for attempt in range(ATTEMPTS):
        before = os.fstat(source)
        if not stat.S_ISREG(before.st_mode):
            raise NotAFile
        if attempt:
            time.sleep(_RACY_NS / 1e9)
            before = os.fstat(source)
            os.lseek(source, 0, os.SEEK_SET)
            os.lseek(target, 0, os.SEEK_SET)
            os.ftruncate(target, 0)
        began = time.time_ns()
        size, digest = _copy_bytes(source, target, pace)
        member = ManifestMember(path=path, size=size, sha256=digest)
        settled = not 0 <= began - before.st_mtime_ns < _RACY_NS
        if settled and size == before.st_size and stamp_of(os.fstat(source)).same(stamp_of(before)):
            return member
    raise Restless(member)


def _copy_bytes(source: int, target: int, pace: Pace) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while piece := os.read(source, PIECE):
        digest.update(piece)
        write_all(target, memoryview(piece))
        size += len(piece)
        pace.spend(len(piece))
    return size, digest.hexdigest()


def hash_file(path: Path, member: str, pace: Pace) -> ManifestMember:
    """The member that a staged file is."""
    digest, size = hashlib.sha256(), 0
    buffer = bytearray(PIECE)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(view[:count])
            size += count
            pace.check()
    return ManifestMember(path=member, size=size, sha256=digest.hexdigest())

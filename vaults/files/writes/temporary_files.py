"""Temporary files of a vault: how they are named, made, discarded, and told apart after a kill.

A name says what the file under it is, so that a sweep after a kill never deletes somebody's words:

- ``.strongroom-new-R.tmp``: being written; not acknowledged yet.
- ``.strongroom-I-E-R.tmp``: written, with inode I, to take the place of version E. Before the exchange the name stands
  for inode I; after it, for what came out: version E, or what another program had put there meanwhile.
- ``.strongroom-out-E-R.tmp``: a file on its way out, at its removal.

E is inode, size and time of the expected version; R is random.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from vaults.files.atomic import write_all
from vaults.files.file_stamps import FileStamp, stamp_of, status_at
from vaults.files.paths import conflict_path
from vaults.files.writes.renames import FolderEntry, rename_exclusive

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOTHING = FileStamp(0, 0, 0, 0)
_NAME = re.compile(
    r"\.strongroom-(?:new|(?P<own>out|[0-9a-f]+)-(?P<inode>[0-9a-f]+)-(?P<size>[0-9a-f]+)-(?P<mtime>-?[0-9a-f]+))"
    r"-[0-9a-f]{8}\.tmp"
)


@dataclass(frozen=True, slots=True)
class TemporaryFile:
    """A written and synced file without a proper name yet; ``stamp`` is kept when it gets one."""

    place: FolderEntry
    stamp: FileStamp


def write_new(folder: int, data: bytes) -> TemporaryFile:
    """A file for a name that is free: with the system's permissions for new files, owned as the folder is."""
    return _write(folder, data, _Origin(0o666, _NOTHING, lambda descriptor: _copy_owner(descriptor, os.fstat(folder))))


def write_replacement(entry: FolderEntry, data: bytes, status: os.stat_result) -> TemporaryFile:
    """A file to replace ``place``, whose status is given: with its permissions, and its owner and extended attributes
    where possible."""

    def take_after(descriptor: int) -> None:
        _copy_owner(descriptor, status)
        _copy_attributes(entry, descriptor)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))  # last: a change of owner clears bits

    return _write(entry.folder, data, _Origin(0o600, stamp_of(status), take_after))


def make_folder(folder: int, name: str) -> None:
    """Makes a folder with the system's permissions for new ones, owned as its parent is. Durable when it returns."""
    os.mkdir(name, dir_fd=folder)
    owner = os.fstat(folder)
    if owner.st_uid != os.geteuid():
        with suppress(PermissionError):
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
    os.fsync(folder)


def outgoing_entry(folder: int, expected: FileStamp) -> FolderEntry:
    """A hidden name under which a file that is being removed can be checked."""
    return FolderEntry(folder, outgoing_name(expected, secrets.token_hex(4)))


def outgoing_name(expected: FileStamp, mark: str) -> str:
    """That name; ``mark``: 8 or more hex digits that make it unique."""
    return f".strongroom-out-{_encode_stamp(expected)}-{mark[:8]}.tmp"


def discard(temporary: TemporaryFile) -> None:
    """Removes the file if the name still stands for it; after an exchange it may stand for another program's."""
    with suppress(FileNotFoundError):
        if status_at(temporary.place.folder, temporary.place.name).st_ino == temporary.stamp.inode:
            os.unlink(temporary.place.name, dir_fd=temporary.place.folder)


def keep_beside(entry: FolderEntry, beside: FolderEntry) -> str:
    """Gives the file at ``place`` a free, visible name in the folder of ``beside``; returns that name."""
    moment, attempt = datetime.now(UTC), 0
    while True:
        kept = conflict_path(beside.name, moment, attempt)
        try:
            rename_exclusive(entry, FolderEntry(beside.folder, kept))
        except FileExistsError:
            attempt += 1
        else:
            return kept


def is_temporary(name: str) -> bool:
    return name.startswith(".strongroom-") and _NAME.fullmatch(name) is not None


def is_disposable(name: str, status: os.stat_result) -> bool:
    """Whether an orphan holds only bytes that were never acknowledged, or that were replaced as asked."""
    match = _NAME.fullmatch(name)
    if match is None or not stat.S_ISREG(status.st_mode):
        return False
    if match["own"] is None or match["own"] == f"{status.st_ino:x}":
        return True
    return f"{match['inode']}-{match['size']}-{match['mtime']}" == _encode_stamp(stamp_of(status))


def successor_inode(name: str) -> int | None:
    """The inode of the file that may have replaced the one under this temporary name; None if none can have."""
    match = _NAME.fullmatch(name)
    return None if match is None or match["own"] in (None, "out") else int(match["own"], 16)


@dataclass(frozen=True, slots=True)
class _Origin:
    """How a temporary file is made: its first permissions, the version it replaces, and what it inherits."""

    mode: int
    expected: FileStamp
    finish: Callable[[int], None]


def _write(folder: int, data: bytes, origin: _Origin) -> TemporaryFile:
    name = f".strongroom-new-{secrets.token_hex(4)}.tmp"
    descriptor = os.open(name, _NEW, origin.mode, dir_fd=folder)
    try:
        try:
            inode = os.fstat(descriptor).st_ino
            final = f".strongroom-{inode:x}-{_encode_stamp(origin.expected)}-{secrets.token_hex(4)}.tmp"
            os.rename(name, final, src_dir_fd=folder, dst_dir_fd=folder)
            name = final
            write_all(descriptor, memoryview(data))
            origin.finish(descriptor)
            os.fsync(descriptor)
            return TemporaryFile(FolderEntry(folder, name), stamp_of(os.fstat(descriptor)))
        finally:
            os.close(descriptor)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise


def _copy_owner(descriptor: int, model: os.stat_result) -> None:
    """Gives the file the owner and group of ``model``, as far as this process may."""
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) == (model.st_uid, model.st_gid):
        return
    try:
        os.fchown(descriptor, model.st_uid, model.st_gid)
    except PermissionError:
        with suppress(PermissionError):
            os.fchown(descriptor, -1, model.st_gid)


def _copy_attributes(entry: FolderEntry, descriptor: int) -> None:
    """Copies labels and access lists where possible: some are the system's own, and some systems have none."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        source = os.open(entry.name, _OLD, dir_fd=entry.folder)
        try:
            for attribute in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)


def _encode_stamp(stamp: FileStamp) -> str:
    return f"{stamp.inode:x}-{stamp.size:x}-{stamp.mtime_ns:x}"

"""Identifies a version of a file by its status alone, without reading it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from vaults.files.failures import not_a_file_error


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size in bytes, time of the last change in nanoseconds, and which file it is."""

    size: int
    mtime_ns: int
    inode: int
    device: int

    def same(self, other: FileStamp) -> bool:
        """Whether both are one version of one file. Device numbers may change with a remount, so they do not count."""
        return (self.inode, self.size, self.mtime_ns) == (other.inode, other.size, other.mtime_ns)


@dataclass(frozen=True, slots=True)
class FileContent:
    """Bytes read, and the version they belong to."""

    data: bytes
    stamp: FileStamp


def stamp_of(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def status_at(folder: int, name: str) -> os.stat_result:
    """The status of ``name`` itself, also of a link."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def regular_file_at(folder: int, name: str, path: str) -> os.stat_result:
    """As ``status_at``, for a regular file. Raises InvalidArgument for anything else."""
    status = status_at(folder, name)
    if not stat.S_ISREG(status.st_mode):
        raise not_a_file_error(path, status.st_mode)
    return status

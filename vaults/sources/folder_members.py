"""Walks a folder as the members of an archive, and never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import IO

from vaults.files.folders import VaultRoot, open_subfolder
from vaults.files.ignore_rules import is_left_out
from vaults.sources.archive_member import ArchiveMember, refuse, to_moment

MAX_DEPTH = 64

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def walk_folder(root: VaultRoot) -> Iterator[ArchiveMember]:
    """Every file below the root but for hidden ones and other programs' folders, in the order of names. Holds one
    listing for each level."""
    top = root.open()
    open_folders: list[tuple[int, list[str], Iterator[str]]] = [(top, [], _list_names(top))]
    try:
        while open_folders:
            folder, names, left = open_folders[-1]
            name = next(left, None)
            if name is None:
                os.close(open_folders.pop()[0])
            elif not is_left_out(name):
                here = [*names, name]
                member = _look(root, folder, here)
                if isinstance(member, ArchiveMember):
                    yield member
                else:
                    open_folders.append((member, here, _list_names(member)))
    finally:
        for folder, _, _ in open_folders:
            os.close(folder)


def _list_names(folder: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        return iter(sorted(entry.name for entry in entries))


def _look(root: VaultRoot, folder: int, names: list[str]) -> ArchiveMember | int:
    """What ``names`` end with: a member, or the descriptor of a folder to go into."""
    path = "/".join(names)
    try:
        status = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and len(names) <= MAX_DEPTH:
            return open_subfolder(folder, names[-1])
    except OSError as failure:
        return refuse(path, f"cannot be read: {failure.strerror}")
    reasons = (
        (stat.S_ISDIR(status.st_mode), "lies too deep"),
        (stat.S_ISLNK(status.st_mode), "is a symbolic link"),
        (not stat.S_ISREG(status.st_mode), "is no regular file"),
        (not _is_unicode(path), "has a name that is not UTF-8"),
    )
    if reason := next((reason for holds, reason in reasons if holds), None):
        return refuse(path, reason)
    return ArchiveMember(path, status.st_size, to_moment(status.st_mtime), lambda: _open_file(root, names))


def _open_file(root: VaultRoot, names: list[str]) -> IO[bytes]:
    with root.folder(names[:-1]) as folder:
        descriptor = os.open(names[-1], _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("is no regular file")
    return os.fdopen(descriptor, "rb")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

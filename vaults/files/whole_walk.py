"""Finds every file below a vault's folder, notes or not, for whoever must not leave one behind.

Git's own folders and temporary files of writers are no files of the vault. What cannot be carried elsewhere by its
name, or is no regular file, is reported.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from vaults.files.file_stamps import FileStamp, stamp_of, status_at
from vaults.files.folders import VaultRoot, open_subfolder
from vaults.files.note_walk import SkippedPath, SkipReason, walk_folders
from vaults.files.paths import join_path
from vaults.files.writes.temporary_files import is_temporary

GIT = ".git"


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """A regular file, by its path in the vault, and its version. ``mode``: permission bits."""

    path: str
    stamp: FileStamp
    mode: int


@dataclass(frozen=True, slots=True)
class WholeWalk:
    """What a walk found. ``unread``: folders that could not be listed wholly."""

    found: list[WalkedFile] = field(default_factory=list)
    skipped: list[SkippedPath] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def walk_whole(root: VaultRoot, names: Sequence[str]) -> WholeWalk:
    """Every file below ``names``, a folder, or that one file; nothing if nothing is there. Raises VaultUnavailable."""
    walker = _Walker(WholeWalk())
    if not names:
        walk_folders(root.open(), "", walker.visit, walker.add_failed)
    elif not any(name == GIT or is_temporary(name) for name in names):
        try:
            with root.folder(names[:-1]) as above:
                walker.start(above, names[-1], "/".join(names))
        except OSError as failure:
            walker.add_failed("/".join(names), failure)
    os.close(root.open())  # a walk over a disk that is being unmounted finds ever less, and must not be trusted
    return walker.result


class _Walker:
    def __init__(self, result: WholeWalk) -> None:
        self.result = result

    def start(self, above: int, name: str, path: str) -> None:
        status = status_at(above, name)
        if stat.S_ISDIR(status.st_mode):
            walk_folders(open_subfolder(above, name), path, self.visit, self.add_failed)
        else:
            self._add(path, status)

    def visit(self, folder: int, here: str) -> list[str]:
        """Collects the files of one folder; returns the folders to go on with."""
        deeper: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                path = join_path(here, entry.name)
                if entry.name == GIT or is_temporary(entry.name):
                    continue
                if not _is_text(path):
                    self._skip(path, SkipReason.NOT_UTF8)
                elif entry.is_dir(follow_symlinks=False):
                    deeper.append(entry.name)
                else:
                    try:
                        self._add(path, entry.stat(follow_symlinks=False))
                    except FileNotFoundError:
                        continue
        return deeper

    def add_failed(self, path: str, failure: OSError) -> None:
        """Records a folder that could not be listed wholly, unless it has just gone."""
        if failure.errno in (errno.ENOENT, errno.ENOTDIR):
            return
        self._skip(path, SkipReason.LINK if failure.errno == errno.ELOOP else SkipReason.UNREADABLE)
        if failure.errno != errno.ELOOP:
            self.result.unread.append(path)

    def _add(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISREG(status.st_mode):
            self.result.found.append(WalkedFile(path, stamp_of(status), stat.S_IMODE(status.st_mode)))
        else:
            self._skip(path, SkipReason.LINK if stat.S_ISLNK(status.st_mode) else SkipReason.ODD)

    def _skip(self, path: str, reason: SkipReason) -> None:
        self.result.skipped.append(SkippedPath(os.fsencode(path).decode("utf-8", "replace"), reason))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True

"""The files among a vault's notes, each read whole.

Of a vault in the data folder that is every file of its notes folder but another program's repository and what is only
half written. Of a folder served in place, which is its owner's and may hold anything, it is what the vault serves: the
notes, the policies and the ignore file.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from ops.backup.file_copy import NotAFile, Restless, copy_file
from ops.backup.manifest import ManifestMember, Remark
from ops.backup.member_paths import NOTES, why_unusable
from ops.backup.pace import Pace
from vaults.domain.notes.policy_paths import SUFFIX
from vaults.errors import StrongroomError, VaultUnavailable
from vaults.files.failures import disk_failure
from vaults.files.folders import VaultRoot
from vaults.files.ignore_rules import IGNORE_FILE
from vaults.files.note_walk import SkippedPath, SkipReason, walk_folders
from vaults.files.paths import join_path
from vaults.files.tree import Tree
from vaults.files.writes.temporary_files import is_temporary

MAX_REMARKS = 200
POLICIES = 10_000
RESTLESS = "was written to whenever it was read: taken as it was at the last try"
UNREADABLE = "cannot be read"
REPOSITORY = ".git"


@dataclass(slots=True)
class NotesCopy:
    """Members by path inside the notes folder, and what is to be said of others."""

    members: dict[str, ManifestMember] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    remark_count: int = 0

    def remark(self, path: str, reason: str) -> None:
        self.remark_count += 1
        if len(self.remarks) < MAX_REMARKS:
            self.remarks.append(Remark(path=os.fsencode(path).decode("utf-8", "replace"), reason=reason))


def copy_folder(root: Path, into: Path, pace: Pace) -> NotesCopy:
    """Copy every file below ``root``. Raises ``VaultUnavailable`` where it cannot be listed."""
    copier = _Copier(into, pace)
    vault = VaultRoot(root)
    walk_folders(vault.open(), "", copier.visit, copier.add_failed)
    os.close(vault.open())  # a folder that is being unmounted shows ever less, and must not be trusted
    return copier.copy


@dataclass(frozen=True, slots=True)
class ServedPaths:
    """What a vault serves of a folder, and what it passes over."""

    paths: list[str]
    skipped: list[SkippedPath]


def list_served(tree: Tree, policies: str) -> ServedPaths:
    """The notes, the ignore file and the policies, whether or not they are there. Raises ``VaultUnavailable``."""
    found = tree.walk()
    paths = [each.path for each in found.found] + [IGNORE_FILE]
    paths += [join_path(policies, f"{name}{SUFFIX}") for name in tree.list_names(policies, SUFFIX, POLICIES)]
    return ServedPaths(paths, found.skipped)


def copy_served(root: Path, into: Path, *, exclude: tuple[str, ...], policies: str, pace: Pace) -> NotesCopy:
    """Copy what a vault serves of the folder ``root``. Raises ``VaultUnavailable`` where it cannot be listed."""
    served, copier = list_served(Tree(root, exclude), policies), _Copier(into, pace)
    for skipped in served.skipped:
        copier.copy.remark(skipped.path, skipped.reason)
    vault = VaultRoot(root)
    for path in served.paths:
        above, _, name = path.rpartition("/")
        try:
            with vault.folder(above.split("/") if above else ()) as folder:
                copier.take(folder, name, path)
        except OSError as failure:
            copier.add_failed(path, failure)
    os.close(vault.open())
    return copier.copy


class _Copier:
    """One copy's results so far."""

    def __init__(self, into: Path, pace: Pace) -> None:
        self.copy = NotesCopy()
        self._into = into
        self._pace = pace

    def visit(self, folder: int, here: str) -> list[str]:
        """Copy the files of one folder; returns the folders to go on with."""
        deeper: list[str] = []
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        for entry in entries:
            path = join_path(here, entry.name)
            if entry.name == REPOSITORY or is_temporary(entry.name):
                continue
            if reason := why_unusable(f"{NOTES}/{path}"):
                self.copy.remark(path, f"its path {reason}")
            elif entry.is_dir(follow_symlinks=False):
                deeper.append(entry.name)
            elif entry.is_symlink():
                self.copy.remark(path, SkipReason.LINK)
            else:
                try:
                    self.take(folder, entry.name, path)
                except OSError as failure:
                    self.add_failed(path, failure)
        return deeper

    def take(self, folder: int, name: str, path: str) -> None:
        """Copy one file."""
        member = f"{NOTES}/{path}"
        try:
            self.copy.members[path] = copy_file(folder, name, self._into / path, member, self._pace)
        except NotAFile:
            self.copy.remark(path, SkipReason.ODD)
        except Restless as restless:
            self.copy.members[path] = restless.member
            self.copy.remark(path, RESTLESS)

    def add_failed(self, path: str, failure: OSError) -> None:
        """What may not be read is said to be left out, for the server cannot read it either; a disk that does not
        answer stops the backup."""
        if isinstance(failure, FileNotFoundError | NotADirectoryError):
            return  # gone since: as if it had gone before
        if failure.errno not in (errno.EACCES, errno.EPERM, errno.ELOOP):
            raise _explain(failure, path) from failure
        self.copy.remark(path, SkipReason.LINK if failure.errno == errno.ELOOP else UNREADABLE)


def _explain(failure: OSError, path: str) -> StrongroomError:
    return disk_failure(failure) or VaultUnavailable(
        "a file of the vault cannot be read, so there is no backup of it",
        hint="the operator must check the disk",
        path=os.fsencode(path).decode("utf-8", "replace"),
    )

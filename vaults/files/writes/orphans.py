"""Clears away what killed writers have left, without losing what another program had written.

A writer killed between an exchange and the check of what came out may leave, under a hidden name, a version nobody has
seen. Such a file gets a visible name; every other temporary file is deleted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from vaults.files.failures import translate_os_errors
from vaults.files.file_stamps import status_at
from vaults.files.folders import VaultRoot, try_lock_folder
from vaults.files.ignore_rules import is_left_out
from vaults.files.note_walk import walk_folders
from vaults.files.paths import join_path
from vaults.files.writes.renames import FolderEntry
from vaults.files.writes.temporary_files import is_disposable, is_temporary, keep_beside, successor_inode


@dataclass(frozen=True, slots=True)
class SweptOrphans:
    """How many orphans were deleted, and under which paths others were kept."""

    removed: int = 0
    kept: list[str] = field(default_factory=list)


def sweep_orphans(root: VaultRoot) -> SweptOrphans:
    """Sweeps the tree except hidden folders, folders with a writer at work, and those that cannot be read."""
    removed, kept = 0, list[str]()

    def visit(folder: int, here: str) -> list[str]:
        nonlocal removed
        with os.scandir(folder) as entries:
            listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        if any(is_temporary(name) for name, _ in listed):
            with try_lock_folder(folder) as locked:
                for name in filter(is_temporary, os.listdir(folder) if locked else ()):  # listed again, without writers
                    rescued = _clear_orphan(folder, name)
                    removed += rescued is None
                    kept.extend([join_path(here, rescued)] if rescued else [])
        return [name for name, is_folder in listed if is_folder and not is_left_out(name)]

    with translate_os_errors(""):
        walk_folders(root.open(), "", visit, lambda _path, _failure: None)
    return SweptOrphans(removed, kept)


def _clear_orphan(folder: int, name: str) -> str | None:
    """Deletes one orphan, or keeps it under the name that is returned."""
    status = status_at(folder, name)
    if is_disposable(name, status):
        os.unlink(name, dir_fd=folder)
        return None
    return keep_beside(FolderEntry(folder, name), FolderEntry(folder, _original_name(folder, name)))


def _original_name(folder: int, name: str) -> str:
    """The name that the orphan had: its successor has it now, unless that was moved."""
    inode = successor_inode(name)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.inode() == inode and not entry.name.startswith("."):
                return entry.name
    return "recovered.md"

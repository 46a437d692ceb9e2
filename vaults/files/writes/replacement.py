"""Replaces a file so that no edit is lost which another program slips in between.

Between checking a file and renaming over it, another program may save. So the two names are exchanged instead, and
what came out is checked only then: if it is not the version the change was based on, it goes back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from vaults.errors import Conflict
from vaults.files.failures import changed_error, gone_error
from vaults.files.file_stamps import FileStamp, stamp_of, status_at
from vaults.files.paths import join_path, parent_folder
from vaults.files.writes.late_writes import LateWrites, open_for_late_writes
from vaults.files.writes.renames import FolderEntry, exchange, rename_exclusive
from vaults.files.writes.temporary_files import TemporaryFile, discard, keep_beside


@dataclass(frozen=True, slots=True)
class FileReplacement:
    """``temporary`` takes the place of version ``expected`` of ``path``."""

    path: str
    place: FolderEntry
    temporary: TemporaryFile
    expected: FileStamp
    late: LateWrites | None

    def run(self) -> FileStamp:
        try:
            exchanged = exchange(self.temporary.place, self.place)
        except FileNotFoundError:
            raise gone_error(self.path) from None
        if not exchanged:
            return self._rename_over()
        came_out = self.temporary.place
        if not _stamp_at(came_out).same(self.expected):
            raise self._restore_outside_version()
        if self.late is not None:
            self.late.keep(self.path, open_for_late_writes(came_out), self.expected)
        os.unlink(came_out.name, dir_fd=came_out.folder)
        return self.temporary.stamp

    def undo(self) -> None:
        discard(self.temporary)

    def _restore_outside_version(self) -> Conflict:
        """Puts another program's version back. If that moves yet another one out, both stay: the newer at the path, the
        older next to it."""
        hidden = self.temporary.place
        try:
            exchange(hidden, self.place)
        except FileNotFoundError:
            return self._put_back()
        if _stamp_at(hidden).same(self.temporary.stamp):
            discard(self.temporary)
            os.fsync(hidden.folder)
            return changed_error(self.path)
        # Saved twice meanwhile: the newest came out, so it goes in again.
        with suppress(FileNotFoundError):
            exchange(hidden, self.place)
        return self._keep()

    def _put_back(self) -> Conflict:
        """The name is free: another program has removed the new version, or is about to save over it."""
        try:
            rename_exclusive(self.temporary.place, self.place)
        except FileExistsError:
            return self._keep()
        os.fsync(self.place.folder)
        return changed_error(self.path)

    def _keep(self) -> Conflict:
        kept = keep_beside(self.temporary.place, self.place)
        os.fsync(self.place.folder)
        return changed_error(self.path, join_path(parent_folder(self.path), kept))

    def _rename_over(self) -> FileStamp:
        """For file systems that cannot exchange: the check comes just before the rename."""
        try:
            status = status_at(self.place.folder, self.place.name)
        except FileNotFoundError:
            raise gone_error(self.path) from None
        if not stamp_of(status).same(self.expected):
            raise changed_error(self.path)
        source = self.temporary.place
        descriptor = open_for_late_writes(self.place) if self.late is not None else None
        os.rename(source.name, self.place.name, src_dir_fd=source.folder, dst_dir_fd=self.place.folder)
        if self.late is not None:
            self.late.keep(self.path, descriptor, self.expected)
        return self.temporary.stamp


def _stamp_at(entry: FolderEntry) -> FileStamp:
    return stamp_of(status_at(entry.folder, entry.name))

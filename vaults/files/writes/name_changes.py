"""Creates, removes and renames files without ever overwriting one."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass

from vaults.errors import Conflict
from vaults.files.collisions import refuse_collision
from vaults.files.failures import changed_error, gone_error, occupied_error
from vaults.files.file_stamps import FileStamp, stamp_of, status_at
from vaults.files.folders import VaultRoot, path_segments
from vaults.files.paths import collision_key, join_path, parent_folder
from vaults.files.writes.late_writes import LateWrites, open_for_late_writes
from vaults.files.writes.renames import FolderEntry, rename_exclusive
from vaults.files.writes.temporary_files import TemporaryFile, discard, keep_beside, outgoing_entry


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that a file is about to get."""

    path: str
    place: FolderEntry
    root: VaultRoot
    made: tuple[str, ...]
    """Folders made for it, outermost first."""
    creation_lock: threading.Lock
    """Lets new names appear one by one: two spellings of one name must not pass the collision check at once."""

    def take(self, source: FolderEntry, own: str = "") -> None:
        """Renames ``source`` to this name. ``own``: a path of which this may be another spelling."""
        with self.creation_lock:
            refuse_collision(self.root, self.path, own)
            try:
                rename_exclusive(source, self.place)
            except FileExistsError:
                if not own or collision_key(own) != collision_key(self.path) or not _is_one_file(source, self.place):
                    raise occupied_error(self.path) from None
                # Only the spelling changes, where the file system takes both for one name.
                os.rename(source.name, self.place.name, src_dir_fd=source.folder, dst_dir_fd=self.place.folder)

    def give_up(self) -> None:
        """Removes the folders made for it, unless they now hold something else."""
        for path in reversed(self.made):
            with suppress(OSError), self.root.folder(path_segments(parent_folder(path))) as above:
                os.rmdir(path.rpartition("/")[2], dir_fd=above)


@dataclass(frozen=True, slots=True)
class FileCreation:
    """``temporary`` gets a name that was free."""

    name: NewName
    temporary: TemporaryFile

    @property
    def path(self) -> str:
        return self.name.path

    def run(self) -> FileStamp:
        self.name.take(self.temporary.place)
        return self.temporary.stamp

    def undo(self) -> None:
        discard(self.temporary)
        self.name.give_up()


@dataclass(frozen=True, slots=True)
class FileMove:
    """Version ``expected`` of ``path`` gets another name; the file itself stays as it is."""

    path: str
    place: FolderEntry
    name: NewName
    expected: FileStamp

    def run(self) -> FileStamp:
        try:
            self.name.take(self.place, own=self.path)
        except FileNotFoundError:
            raise gone_error(self.path) from None
        if not _stamp_at(self.name.place).same(self.expected):
            raise _return_to_name(self.name.place, self.place, self.path)
        return self.expected

    def undo(self) -> None:
        self.name.give_up()


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """Version ``expected`` of ``path`` goes: hidden first, and deleted if it is the version that was meant."""

    path: str
    place: FolderEntry
    expected: FileStamp
    late: LateWrites | None

    def run(self) -> FileStamp:
        hidden = outgoing_entry(self.place.folder, self.expected)
        try:
            rename_exclusive(self.place, hidden)
        except FileNotFoundError:
            raise gone_error(self.path) from None
        if not _stamp_at(hidden).same(self.expected):
            raise _return_to_name(hidden, self.place, self.path)
        if self.late is not None:
            self.late.keep(self.path, open_for_late_writes(hidden), self.expected)
        os.unlink(hidden.name, dir_fd=hidden.folder)
        return self.expected

    def undo(self) -> None:
        """Nothing is prepared on disk, and a version that was not meant has gone back already."""


def _return_to_name(source: FolderEntry, target: FolderEntry, path: str) -> Conflict:
    """Puts a file that was not the one meant back under its name, or next to what another program has put there."""
    try:
        rename_exclusive(source, target)
    except FileExistsError:
        return changed_error(path, join_path(parent_folder(path), keep_beside(source, target)))
    finally:
        os.fsync(target.folder)
    return changed_error(path)


def _stamp_at(entry: FolderEntry) -> FileStamp:
    return stamp_of(status_at(entry.folder, entry.name))


def _is_one_file(one: FolderEntry, other: FolderEntry) -> bool:
    return one.name != other.name and _stamp_at(one) == _stamp_at(other)

"""The one door to a vault's files.

Every operation starts at the vault's own folder and opens each further one relative to the last, following no link:
nothing outside is read or written, whatever another program swaps meanwhile. What is acknowledged is durable. What
another program saved is never overwritten unseen. All of it blocks: call it on a thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from vaults.errors import InvalidArgument, NotFound, ReadOnly
from vaults.files.collisions import find_collision, refuse_collision
from vaults.files.failures import changed_error, gone_error, translate_os_errors
from vaults.files.file_content import read_file
from vaults.files.file_stamps import FileContent, FileStamp, regular_file_at, stamp_of
from vaults.files.folders import OpenFolder, OpenFolders, VaultRoot, open_subfolder, path_segments
from vaults.files.ignore_rules import IgnoreRules
from vaults.files.note_walk import FoundNote, SkippedPath, SkipReason, WalkResult, walk
from vaults.files.paths import is_note
from vaults.files.whole_walk import WholeWalk, walk_whole
from vaults.files.writes.late_writes import LateWrites, open_for_late_writes
from vaults.files.writes.name_changes import FileCreation, FileMove, FileRemoval, NewName
from vaults.files.writes.orphans import SweptOrphans, sweep_orphans
from vaults.files.writes.prepared_changes import PreparedChange
from vaults.files.writes.renames import FolderEntry
from vaults.files.writes.replacement import FileReplacement
from vaults.files.writes.temporary_files import make_folder, write_new, write_replacement

__all__ = [
    "FileContent",
    "FileStamp",
    "FoundNote",
    "PreparedChange",
    "SkipReason",
    "SkippedPath",
    "SweptOrphans",
    "Tree",
    "WalkResult",
]

_ANY_WRITE = 0o222


class Tree:
    """Files below ``root``, by paths relative to it, joined with ``/``.

    ``exclude``: gitignore patterns of what the walk leaves out. ``late``: gets each replaced or removed file, to
    notice what other programs write into it afterwards; its owner polls it.
    Paths are contained whatever they are; whether a name is fit to be created is for ``paths.check_creatable``.
    No path through a link is followed: it is an InvalidArgument, or a Conflict where something would be made. When
    the root is gone, or another folder has its name, every operation raises VaultUnavailable.
    """

    def __init__(self, root: Path, exclude: Sequence[str] = (), late: LateWrites | None = None) -> None:
        self._root = VaultRoot(root)
        self._folders = OpenFolders(self._root)
        self._late = late
        self._one_by_one = threading.Lock()
        self._rules = IgnoreRules(exclude)

    # Reading

    def read(self, path: str, limit: int) -> FileContent:
        """At most ``limit`` bytes of a regular file. Raises NotFound, TooLarge, InvalidArgument, ReadOnly."""
        names = _file_segments(path)
        with translate_os_errors(path), self._root.folder(names[:-1]) as folder:
            return read_file(folder, names[-1], path, limit)

    def stamp(self, path: str) -> FileStamp | None:
        """The version of a regular file; None if there is none that ``read`` would find."""
        names = _file_segments(path)
        try:
            with translate_os_errors(path), self._root.folder(names[:-1]) as folder:
                return stamp_of(regular_file_at(folder, names[-1], path))
        except (NotFound, InvalidArgument):
            return None

    def collision(self, path: str) -> str | None:
        """What stands in the way of creating ``path``: an entry, on any level, whose name differs in case or Unicode
        form only, or ``path`` itself; None if it is free."""
        return find_collision(self._root, path)

    def list_names(self, folder: str, suffix: str, most: int) -> list[str]:
        """Sorted names, without ``suffix``, of what ends in it in a folder, ``most`` at most; nothing hidden. Empty if
        there is no such folder."""
        try:
            with (
                translate_os_errors(folder),
                self._root.folder(path_segments(folder)) as opened,
                os.scandir(opened) as entries,
            ):
                names = [each.name for each in entries if each.name.endswith(suffix) and not each.name.startswith(".")]
        except (NotFound, InvalidArgument):
            return []
        shown = [os.fsencode(name).decode("utf-8", "replace") for name in names]
        return sorted(name.removesuffix(suffix) for name in shown)[:most]

    def walk(self) -> WalkResult:
        """Every note, and what was passed over that might have been one. Raises VaultUnavailable."""
        return self.walk_folder("")

    def walk_folder(self, path: str) -> WalkResult:
        """As ``walk``, for a folder and what is below it, or for one note. Empty if there is nothing, or left out."""
        return walk(self._root, path_segments(path), self._rules)

    def walk_whole(self, path: str = "") -> WholeWalk:
        """Every file, note or not, of a folder and what is below it, or that one file. Raises VaultUnavailable."""
        return walk_whole(self._root, path_segments(path))

    def covers(self, path: str) -> bool:
        """Whether a walk would look at ``path``, if it is a note: a note's suffix, nothing hidden, nothing excluded."""
        return is_note(path) and self._rules.load_matcher(self._root).covers(path)

    def device(self) -> int:
        """The number of the disk that the root is on now."""
        with self._root.folder(()) as folder:
            return os.fstat(folder).st_dev

    def sweep(self) -> SweptOrphans:
        """Removes the temporary files that killed writers have left in the whole tree."""
        return sweep_orphans(self._root)

    # Changing: at once

    def create(self, path: str, data: bytes) -> FileStamp:
        """A new file, with its folders. Raises AlreadyExists, Conflict for another spelling of an existing name."""
        return self.prepare_create(path, data).publish()

    def replace(self, path: str, data: bytes, expected: FileStamp) -> FileStamp:
        """The whole content of a file, whose permissions stay. Raises Conflict if it is not ``expected`` any more."""
        return self.prepare(path, data, expected).publish()

    def remove(self, path: str, expected: FileStamp) -> None:
        """Raises Conflict if the file is not ``expected`` any more; then it stays."""
        self.prepare_remove(path, expected).publish()

    def move(self, path: str, to: str, expected: FileStamp) -> FileStamp:
        """Another name, within one file system. Raises Conflict as ``replace``, AlreadyExists as ``create``."""
        return self.prepare_move(path, to, expected).publish()

    def forget(self, hidden: str, path: str, expected: FileStamp) -> None:
        """Removes what was ``path`` until it was moved to ``hidden``; what others write into it late is kept."""
        names = _file_segments(hidden)
        with translate_os_errors(path), self._root.folder(names[:-1]) as folder:
            if self._late is not None:
                self._late.keep(path, open_for_late_writes(FolderEntry(folder, names[-1])), expected)
            os.unlink(names[-1], dir_fd=folder)

    # Changing: prepared first, published later

    def prepare_create(self, path: str, data: bytes) -> PreparedChange:
        """``create``, up to the point where the bytes are durable under a hidden name."""
        names = _file_segments(path)
        with translate_os_errors(path):
            name, folder = self._new_name(path, names)
            try:
                temporary = write_new(folder.descriptor, data)
            except BaseException:
                self._folders.release(folder)
                name.give_up()
                raise
        return PreparedChange(FileCreation(name, temporary), self._folders, [folder])

    def prepare(self, path: str, data: bytes, expected: FileStamp) -> PreparedChange:
        """``replace``, up to the point where the bytes are durable under a hidden name."""
        names = _file_segments(path)
        folder = self._hold(path, names[:-1])
        try:
            with translate_os_errors(path):
                place = FolderEntry(folder.descriptor, names[-1])
                status = _require_expected(place, path, expected)
                if not status.st_mode & _ANY_WRITE:
                    raise ReadOnly(f"'{path}' is marked read-only", hint="its owner must allow writing", path=path)
                temporary = write_replacement(place, data, status)
        except BaseException:
            self._folders.release(folder)
            raise
        change = FileReplacement(path, place, temporary, expected, self._late)
        return PreparedChange(change, self._folders, [folder])

    def prepare_remove(self, path: str, expected: FileStamp) -> PreparedChange:
        """``remove``, checked but not yet done."""
        names = _file_segments(path)
        folder = self._hold(path, names[:-1])
        try:
            with translate_os_errors(path):
                place = FolderEntry(folder.descriptor, names[-1])
                _require_expected(place, path, expected)
        except BaseException:
            self._folders.release(folder)
            raise
        return PreparedChange(FileRemoval(path, place, expected, self._late), self._folders, [folder])

    def prepare_move(self, path: str, to: str, expected: FileStamp) -> PreparedChange:
        """``move``, checked and with the new folders made, but not yet done."""
        names, target = _file_segments(path), _file_segments(to)
        folders = [self._hold(path, names[:-1])]
        try:
            with translate_os_errors(path):
                place = FolderEntry(folders[0].descriptor, names[-1])
                _require_expected(place, path, expected)
            name, folder = self._new_name(to, target, own=path)
            folders.append(folder)
        except BaseException:
            for folder in folders:
                self._folders.release(folder)
            raise
        return PreparedChange(FileMove(path, place, name, expected), self._folders, folders)

    def sync(self, folders: Iterable[str]) -> None:
        """Makes names published unsynced durable, once for each folder. A folder that is gone is skipped."""
        for path in dict.fromkeys(folders):
            try:
                with translate_os_errors(path), self._root.folder(path_segments(path)) as folder:
                    os.fsync(folder)
            except NotFound:
                continue

    def _hold(self, path: str, names: Sequence[str]) -> OpenFolder:
        with translate_os_errors(path):
            return self._folders.hold(names)

    def _new_name(self, path: str, names: Sequence[str], own: str = "") -> tuple[NewName, OpenFolder]:
        """A new ``path``, with its folder held, and made where it is missing."""
        refuse_collision(self._root, path, own)
        with translate_os_errors(path):
            made = self._make(names[:-1])
            folder = self._folders.hold(names[:-1])
        place = FolderEntry(folder.descriptor, names[-1])
        return NewName(path, place, self._root, tuple(made), self._one_by_one), folder

    def _make(self, names: Sequence[str]) -> list[str]:
        """Makes the folders that are missing; returns their paths, outermost first."""
        made: list[str] = []
        descriptor = self._root.open()
        try:
            for level, name in enumerate(names):
                try:
                    deeper = open_subfolder(descriptor, name)
                except FileNotFoundError:
                    with suppress(FileExistsError):
                        make_folder(descriptor, name)
                        made.append("/".join(names[: level + 1]))
                    deeper = open_subfolder(descriptor, name)
                os.close(descriptor)
                descriptor = deeper
        finally:
            os.close(descriptor)
        return made


def _file_segments(path: str) -> list[str]:
    names = path_segments(path)
    if not names:
        raise InvalidArgument("path", "names the vault's own folder")
    return names


def _require_expected(entry: FolderEntry, path: str, expected: FileStamp) -> os.stat_result:
    """The status of the file, which must still be the expected version. Raises Conflict."""
    try:
        status = regular_file_at(entry.folder, entry.name, path)
    except FileNotFoundError:
        raise gone_error(path) from None
    if not stamp_of(status).same(expected):
        raise changed_error(path)
    return status

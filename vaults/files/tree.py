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
from vaults.files.failures import changed, gone, typed
from vaults.files.file_content import read_file
from vaults.files.file_stamps import Content, Stamp, regular_at, stamp_of
from vaults.files.folders import Folder, Folders, Root, enter, segments
from vaults.files.ignore_rules import Rules
from vaults.files.note_walk import Found, Reason, Skipped, Walk, walk
from vaults.files.paths import is_note
from vaults.files.writes.late_writes import LateWrites, still_open
from vaults.files.writes.name_changes import Creation, Moving, NewName, Removal
from vaults.files.writes.orphans import Swept, sweep
from vaults.files.writes.prepared_changes import Prepared
from vaults.files.writes.renames import Place
from vaults.files.writes.replacement import Replacement
from vaults.files.writes.temporary_files import make_folder, write_new, write_successor

__all__ = ["Content", "Found", "Prepared", "Reason", "Skipped", "Stamp", "Swept", "Tree", "Walk"]

_ANY_WRITE = 0o222


class Tree:
    """Files below ``root``, by paths relative to it, joined with ``/``.

    ``exclude``: gitignore patterns of what the walk leaves out. ``late``: gets what was replaced or removed, to
    notice words that other programs write into it afterwards; whoever gives it polls it.
    Paths are contained whatever they are; whether a name is fit to be created is for ``paths.check_creatable``.
    No path through a link is followed: it is an InvalidArgument, or a Conflict where something would be made. When
    the root is gone, or another folder has its name, every operation raises VaultUnavailable.
    """

    def __init__(self, root: Path, exclude: Sequence[str] = (), late: LateWrites | None = None) -> None:
        self._root = Root(root)
        self._folders = Folders(self._root)
        self._late = late
        self._one_by_one = threading.Lock()
        self._rules = Rules(exclude)

    # Reading

    def read(self, path: str, limit: int) -> Content:
        """At most ``limit`` bytes of a regular file. Raises NotFound, TooLarge, InvalidArgument, ReadOnly."""
        names = _file(path)
        with typed(path), self._root.folder(names[:-1]) as folder:
            return read_file(folder, names[-1], path, limit)

    def stamp(self, path: str) -> Stamp | None:
        """The version of a regular file; None if there is none that ``read`` would find."""
        names = _file(path)
        try:
            with typed(path), self._root.folder(names[:-1]) as folder:
                return stamp_of(regular_at(folder, names[-1], path))
        except (NotFound, InvalidArgument):
            return None

    def collision(self, path: str) -> str | None:
        """What stands in the way of creating ``path``: an entry, on any level, whose name differs in case or Unicode
        form only, or ``path`` itself; None if it is free."""
        return find_collision(self._root, path)

    def named(self, folder: str, suffix: str, most: int) -> list[str]:
        """Names, without it, of what is called ``suffix`` at the end in a folder, in their order; nothing hidden. None
        if there is no such folder."""
        try:
            with typed(folder), self._root.folder(segments(folder)) as opened, os.scandir(opened) as entries:
                names = [each.name for each in entries if each.name.endswith(suffix) and not each.name.startswith(".")]
        except (NotFound, InvalidArgument):
            return []
        shown = [os.fsencode(name).decode("utf-8", "replace") for name in names]
        return sorted(name.removesuffix(suffix) for name in shown)[:most]

    def walk(self) -> Walk:
        """Every note, and what was passed over that might have been one. Raises VaultUnavailable."""
        return self.walk_folder("")

    def walk_folder(self, path: str) -> Walk:
        """As ``walk``, of one folder and what is below it, or of one note. Empty if there is nothing, or left out."""
        return walk(self._root, segments(path), self._rules)

    def covers(self, path: str) -> bool:
        """Whether a walk would look at ``path``, if it is a note: a note's suffix, nothing hidden, nothing excluded."""
        return is_note(path) and self._rules.ignoring(self._root).covers(path)

    def device(self) -> int:
        """The number of the disk that the root is on now."""
        with self._root.folder(()) as folder:
            return os.fstat(folder).st_dev

    def sweep(self) -> Swept:
        """Removes the temporary files that killed writers have left in the whole tree."""
        return sweep(self._root)

    # Changing: at once

    def create(self, path: str, data: bytes) -> Stamp:
        """A new file, with its folders. Raises AlreadyExists, Conflict for another spelling of an existing name."""
        return self.prepare_create(path, data).publish()

    def replace(self, path: str, data: bytes, expected: Stamp) -> Stamp:
        """The whole content of a file, whose permissions stay. Raises Conflict if it is not ``expected`` any more."""
        return self.prepare(path, data, expected).publish()

    def remove(self, path: str, expected: Stamp) -> None:
        """Raises Conflict if the file is not ``expected`` any more; then it stays."""
        self.prepare_remove(path, expected).publish()

    def move(self, path: str, to: str, expected: Stamp) -> Stamp:
        """Another name, within one file system. Raises Conflict as ``replace``, AlreadyExists as ``create``."""
        return self.prepare_move(path, to, expected).publish()

    def forget(self, hidden: str, path: str, expected: Stamp) -> None:
        """Removes what was moved out of sight, and was ``path`` before; what is written into it late is kept."""
        names = _file(hidden)
        with typed(path), self._root.folder(names[:-1]) as folder:
            if self._late is not None:
                self._late.keep(path, still_open(Place(folder, names[-1])), expected)
            os.unlink(names[-1], dir_fd=folder)

    # Changing: prepared beside something else, published later

    def prepare_create(self, path: str, data: bytes) -> Prepared:
        """``create``, up to the point where the bytes are durable under a hidden name."""
        names = _file(path)
        with typed(path):
            name, folder = self._new_name(path, names)
            try:
                temporary = write_new(folder.descriptor, data)
            except BaseException:
                self._folders.release(folder)
                name.give_up()
                raise
        return Prepared(Creation(name, temporary), self._folders, [folder])

    def prepare(self, path: str, data: bytes, expected: Stamp) -> Prepared:
        """``replace``, up to the point where the bytes are durable under a hidden name."""
        names = _file(path)
        folder = self._hold(path, names[:-1])
        try:
            with typed(path):
                place = Place(folder.descriptor, names[-1])
                status = _expected_at(place, path, expected)
                if not status.st_mode & _ANY_WRITE:
                    raise ReadOnly(f"'{path}' is marked read-only", hint="its owner must allow writing", path=path)
                temporary = write_successor(place, data, status)
        except BaseException:
            self._folders.release(folder)
            raise
        change = Replacement(path, place, temporary, expected, self._late)
        return Prepared(change, self._folders, [folder])

    def prepare_remove(self, path: str, expected: Stamp) -> Prepared:
        """``remove``, checked but not yet done."""
        names = _file(path)
        folder = self._hold(path, names[:-1])
        try:
            with typed(path):
                place = Place(folder.descriptor, names[-1])
                _expected_at(place, path, expected)
        except BaseException:
            self._folders.release(folder)
            raise
        return Prepared(Removal(path, place, expected, self._late), self._folders, [folder])

    def prepare_move(self, path: str, to: str, expected: Stamp) -> Prepared:
        """``move``, checked and with the new folders made, but not yet done."""
        names, target = _file(path), _file(to)
        held = [self._hold(path, names[:-1])]
        try:
            with typed(path):
                place = Place(held[0].descriptor, names[-1])
                _expected_at(place, path, expected)
            name, folder = self._new_name(to, target, own=path)
            held.append(folder)
        except BaseException:
            for folder in held:
                self._folders.release(folder)
            raise
        return Prepared(Moving(path, place, name, expected), self._folders, held)

    def sync(self, folders: Iterable[str]) -> None:
        """Makes names published unsynced durable, once for each folder. A folder that is gone has none left."""
        for path in dict.fromkeys(folders):
            try:
                with typed(path), self._root.folder(segments(path)) as folder:
                    os.fsync(folder)
            except NotFound:
                continue

    def _hold(self, path: str, names: Sequence[str]) -> Folder:
        with typed(path):
            return self._folders.hold(names)

    def _new_name(self, path: str, names: Sequence[str], own: str = "") -> tuple[NewName, Folder]:
        """A new ``path``, with its folder held, and made where it is missing."""
        refuse_collision(self._root, path, own)
        with typed(path):
            made = self._make(names[:-1])
            folder = self._folders.hold(names[:-1])
        place = Place(folder.descriptor, names[-1])
        return NewName(path, place, self._root, tuple(made), self._one_by_one), folder

    def _make(self, names: Sequence[str]) -> list[str]:
        """Makes the folders that are missing; returns their paths, outermost first."""
        made: list[str] = []
        descriptor = self._root.open()
        try:
            for level, name in enumerate(names):
                try:
                    deeper = enter(descriptor, name)
                except FileNotFoundError:
                    with suppress(FileExistsError):
                        make_folder(descriptor, name)
                        made.append("/".join(names[: level + 1]))
                    deeper = enter(descriptor, name)
                os.close(descriptor)
                descriptor = deeper
        finally:
            os.close(descriptor)
        return made


def _file(path: str) -> list[str]:
    names = segments(path)
    if not names:
        raise InvalidArgument("path", "names the vault's own folder")
    return names


def _expected_at(place: Place, path: str, expected: Stamp) -> os.stat_result:
    """The status of the file, which must still be the expected version. Raises Conflict."""
    try:
        status = regular_at(place.folder, place.name, path)
    except FileNotFoundError:
        raise gone(path) from None
    if not stamp_of(status).same(expected):
        raise changed(path)
    return status

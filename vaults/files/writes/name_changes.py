"""Names that come, go and move: creating, removing and renaming without ever overwriting."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass

from vaults.errors import Conflict
from vaults.files.collisions import refuse_collision
from vaults.files.failures import changed, gone, occupied
from vaults.files.file_stamps import Stamp, stamp_of, status_at
from vaults.files.folders import Root, segments
from vaults.files.paths import joined, key, parent
from vaults.files.writes.late_writes import LateWrites, still_open
from vaults.files.writes.renames import Place, rename_exclusive
from vaults.files.writes.temporary_files import Temporary, drop, keep, outgoing


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that is to appear, the folders made for it, and the lock under which new names appear one by one: two
    spellings of one name must not pass the look for collisions side by side."""

    path: str
    place: Place
    root: Root
    made: tuple[str, ...]
    one_by_one: threading.Lock

    def take(self, source: Place, own: str = "") -> None:
        """Renames ``source`` to this name; ``own``: the path whose other spelling this may be."""
        with self.one_by_one:
            refuse_collision(self.root, self.path, own)
            try:
                rename_exclusive(source, self.place)
            except FileExistsError:
                if not own or key(own) != key(self.path) or not _is_one_file(source, self.place):
                    raise occupied(self.path) from None
                # Only the spelling changes, where the file system takes both for one name.
                os.rename(source.name, self.place.name, src_dir_fd=source.folder, dst_dir_fd=self.place.folder)

    def give_up(self) -> None:
        """Removes the folders made for it, unless something else has come into them."""
        for path in reversed(self.made):
            with suppress(OSError), self.root.folder(segments(parent(path))) as above:
                os.rmdir(path.rpartition("/")[2], dir_fd=above)


@dataclass(frozen=True, slots=True)
class Creation:
    """``temporary`` gets a name that was free."""

    name: NewName
    temporary: Temporary

    @property
    def path(self) -> str:
        return self.name.path

    def run(self) -> Stamp:
        self.name.take(self.temporary.place)
        return self.temporary.stamp

    def undo(self) -> None:
        drop(self.temporary)
        self.name.give_up()


@dataclass(frozen=True, slots=True)
class Moving:
    """Version ``expected`` of ``path`` gets another name; the file itself stays as it is."""

    path: str
    place: Place
    name: NewName
    expected: Stamp

    def run(self) -> Stamp:
        try:
            self.name.take(self.place, own=self.path)
        except FileNotFoundError:
            raise gone(self.path) from None
        if not _stamp_at(self.name.place).same(self.expected):
            raise _returned(self.name.place, self.place, self.path)
        return self.expected

    def undo(self) -> None:
        self.name.give_up()


@dataclass(frozen=True, slots=True)
class Removal:
    """Version ``expected`` of ``path`` goes: out of sight first, and for good if it is the one that was meant."""

    path: str
    place: Place
    expected: Stamp
    late: LateWrites | None

    def run(self) -> Stamp:
        hidden = outgoing(self.place.folder, self.expected)
        try:
            rename_exclusive(self.place, hidden)
        except FileNotFoundError:
            raise gone(self.path) from None
        if not _stamp_at(hidden).same(self.expected):
            raise _returned(hidden, self.place, self.path)
        if self.late is not None:
            self.late.keep(self.path, still_open(hidden), self.expected)
        os.unlink(hidden.name, dir_fd=hidden.folder)
        return self.expected

    def undo(self) -> None:
        """Nothing is prepared on disk, and a version that was not meant has gone back already."""


def _returned(source: Place, target: Place, path: str) -> Conflict:
    """Puts a file that was not the one meant back under its name, or beside what another program has put there."""
    try:
        rename_exclusive(source, target)
    except FileExistsError:
        return changed(path, joined(parent(path), keep(source, target)))
    finally:
        os.fsync(target.folder)
    return changed(path)


def _stamp_at(place: Place) -> Stamp:
    return stamp_of(status_at(place.folder, place.name))


def _is_one_file(one: Place, other: Place) -> bool:
    return one.name != other.name and _stamp_at(one) == _stamp_at(other)

"""Git objects of one repository: loose ones are read and written by hand, packed ones by pygit2.

No repository is opened: libgit2 would read its configuration and follow its includes and alternates. Here there is an
object folder and nothing else. Loose objects are written by hand because pygit2 holds the interpreter lock while it
compresses and syncs (0.5 s for 30 MB, and every fsync of a slow disk), which would stop the event loop.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaults.files.atomic import sync_folder
from vaults.history.errors import HistoryUnavailable, ObjectMissing

# No note and no folder listing comes near; an object that claims more is not read into memory.
MAX_OBJECT_BYTES = 64 * 1024 * 1024

_ATTEMPTS = 5  # git removes folders it has emptied, even one that is about to be written into
TEMPORARY_PREFIX = "tmp_obj_strongroom_"  # git treats names that begin with tmp_obj_ as leftovers and prunes them

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_COMPRESSION_LEVEL = 1  # a higher level halves the speed and saves 3 % on trees, which are mostly hashes
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a planted link or FIFO is refused, not awaited


@dataclass(frozen=True, slots=True)
class GitObject:
    kind: str
    data: bytes


class ObjectStore:
    """Reads and writes one ``objects`` folder. One caller at a time; other processes may use the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._packs: Any = None
        self._listing: tuple[str, ...] = ()
        self._unsynced: set[Path] = set()

    @property
    def folder(self) -> Path:
        return self._folder

    def find(self, oid: str) -> GitObject | None:
        """The object, or None when this repository does not hold it. Raises HistoryUnavailable when it is damaged."""
        return self._loose(oid) or self._read_packed(oid)

    def get(self, oid: str, kind: str) -> bytes:
        """The object's bytes; raises HistoryUnavailable when it is absent, damaged or of another kind."""
        found = self.find(oid)
        if found is None:
            raise ObjectMissing
        if found.kind != kind:
            raise HistoryUnavailable("an object of the history is damaged")
        return found.data

    def size(self, oid: str) -> int | None:
        """Size of the object in bytes, by its header alone; None when absent."""
        raw = self._loose_file(oid)
        if raw is not None:
            return _parse_header(zlib.decompressobj().decompress(raw[:4096], 64))[1]
        for packs in (self._packs, self._packs_now()):
            if packs is not None and packs.exists(oid):
                return int(packs.read_header(oid)[1])
        return None

    def is_packed(self, oid: str) -> bool:
        packs = self._packs_now()
        return packs is not None and bool(packs.exists(oid))

    def write(self, kind: str, data: bytes) -> str:
        """Store an object and return its id. Durable only after ``settle``; before that nothing may point to it."""
        whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
        oid = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        folder = self._folder / oid[:2]
        if self._refresh_existing(folder / oid[2:]):
            return oid
        packed = zlib.compress(whole, _COMPRESSION_LEVEL)
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):
                self._store(folder, oid[2:], packed)
                return oid
        raise HistoryUnavailable("the repository is gone")

    def settle(self) -> None:
        """Make the names of everything written durable (their bytes are already)."""
        unsynced, self._unsynced = self._unsynced, set()
        for folder in sorted(unsynced):
            sync_folder(folder)

    def loose_path(self, oid: str) -> Path:
        return self._folder / oid[:2] / oid[2:]

    def _refresh_existing(self, path: Path) -> bool:
        """Whether the object exists already. Touches it, so that a prune under way, which goes by age, spares it."""
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size == 0:  # empty: left by another git after a power cut
                return False
            os.utime(path)
        except OSError:
            return False
        return True

    def _store(self, folder: Path, name: str, packed: bytes) -> None:
        mode = stat.S_IMODE(self._folder.stat().st_mode)
        with suppress(FileExistsError):
            folder.mkdir(mode)
            self._unsynced.add(self._folder)
        temporary = folder / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode & 0o444)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(packed)
                file.flush()
                os.fsync(descriptor)
            temporary.replace(folder / name)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        self._unsynced.add(folder)

    def _loose_file(self, oid: str) -> bytes | None:
        try:
            descriptor = os.open(self._folder / oid[:2] / oid[2:], _READ)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise HistoryUnavailable("an object of the history is damaged")
            if status.st_size > MAX_OBJECT_BYTES:
                raise HistoryUnavailable("an object of the history is too large")
            return file.read()

    def _loose(self, oid: str) -> GitObject | None:
        raw = self._loose_file(oid)
        if raw is None:
            return None
        whole = zlib.decompressobj().decompress(raw, MAX_OBJECT_BYTES + 64)
        kind, size, start = _parse_header(whole)
        if size != len(whole) - start or hashlib.sha1(whole, usedforsecurity=False).hexdigest() != oid:
            raise HistoryUnavailable("an object of the history is damaged")
        return GitObject(kind, whole[start:])

    def _read_packed(self, oid: str) -> GitObject | None:
        """The object from a pack. Looks twice: git may have packed objects or replaced packs since the last listing."""
        before = self._packs
        with suppress(LookupError):
            found = _read(before, oid)
            if found:
                return found
        if self._packs_now() is before:
            return _read(before, oid)
        return _read(self._packs, oid) or self._loose(oid)

    def _packs_now(self) -> Any:
        """libgit2's reader of the present packs, renewed when the folder has changed."""
        listing = self._list_packs()
        if listing != self._listing:
            import pygit2

            self._packs = pygit2.OdbBackendPack(str(self._folder)) if listing else None
            self._listing = listing
        return self._packs

    def _list_packs(self) -> tuple[str, ...]:
        folder = self._folder / "pack"
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise HistoryUnavailable("the repository is damaged")
            with os.scandir(folder) as entries:
                files = [(entry.name, entry.is_file(follow_symlinks=False)) for entry in entries]
        except FileNotFoundError:
            return ()
        wanted = [(name, regular) for name, regular in files if name.endswith((".pack", ".idx", "multi-pack-index"))]
        if not all(regular for _, regular in wanted):
            raise HistoryUnavailable("the repository is damaged")  # opening a FIFO would stop the process
        return tuple(sorted(name for name, _ in wanted))


def _read(packs: Any, oid: str) -> GitObject | None:
    if packs is None or not packs.exists(oid):
        return None
    if packs.read_header(oid)[1] > MAX_OBJECT_BYTES:
        raise HistoryUnavailable("an object of the history is too large")
    kind, data = packs.read(oid)
    return GitObject(_KINDS.get(int(kind), ""), data)


def _parse_header(start: bytes) -> tuple[str, int, int]:
    """Kind, size and offset of the content of a loose object."""
    end = start.index(b"\0", 0, 64)
    kind, _, size = start[:end].partition(b" ")
    return kind.decode("ascii"), int(size), end + 1

"""A folder as a store of backups: on another disk, or a bucket that is mounted."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ops.backup.store import StoredObject, unreachable_error
from vaults.errors import AlreadyExists, Conflict, Forbidden, NotFound, ReadOnly, StorageFull, StrongroomError
from vaults.files.atomic import sync_folder, write_all
from vaults.files.permissions import FILE_MODE, FOLDER_MODE

LOCK = ".lock"
PIECE = 1 << 20
PARTIAL = ".partial"
"""How the name of a file ends that is not whole yet. Under ``hold`` all of them are of the dead."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM}


class FolderStore:
    """Objects as files below ``root``, which the operator made: a missing one is never made, because it may be a disk
    that is not mounted."""

    grace_s = 0.0

    def __init__(self, root: Path) -> None:
        self._root = root
        self._unsynced: set[Path] = set()
        self.name = str(root)

    def put(self, key: str, data: bytes) -> None:
        with self._translated():
            path = self._root / key
            self._make_folders(path.parent)
            self._write(path, [data])
            self._unsynced.add(path.parent)

    def create(self, key: str, data: bytes) -> None:
        self._refuse_existing(key)
        self.put(key, data)
        self.settle()

    def create_file(self, key: str, path: Path) -> None:
        self._refuse_existing(key)
        with self._translated():
            target = self._root / key
            self._make_folders(target.parent)
            with path.open("rb") as file:
                self._write(target, iter(lambda: file.read(PIECE), b""))
            self._unsynced.add(target.parent)
        self.settle()

    def _refuse_existing(self, key: str) -> None:
        if self.find(key) is not None:
            raise AlreadyExists("there is such a backup already")

    def settle(self) -> None:
        with self._translated():
            while self._unsynced:
                folder = self._unsynced.pop()
                sync_folder(folder)

    def get(self, key: str) -> bytes:
        with self._translated():
            try:
                return (self._root / key).read_bytes()
            except (FileNotFoundError, IsADirectoryError):
                self._check_root()
                raise NotFound("the target of backups has no such object") from None

    def digest(self, key: str) -> bytes:
        with self._translated():
            try:
                with (self._root / key).open("rb") as file:
                    return hashlib.file_digest(file, "sha256").digest()
            except (FileNotFoundError, IsADirectoryError):
                self._check_root()
                raise NotFound("the target of backups has no such object") from None

    def find(self, key: str) -> StoredObject | None:
        with self._translated():
            try:
                state = (self._root / key).stat(follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                self._check_root()
                return None
            return _describe(key, state) if stat.S_ISREG(state.st_mode) else None

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        with self._translated():
            self._check_root()
            found = sorted(self._walk(self._root / prefix, prefix), key=lambda each: each.key)
        yield from found

    def list_folders(self, prefix: str) -> list[str]:
        with self._translated():
            self._check_root()
            try:
                found = [each.name for each in os.scandir(self._root / prefix) if each.is_dir(follow_symlinks=False)]
            except FileNotFoundError:
                return []
        return sorted(name for name in found if not name.startswith("."))

    def delete(self, keys: Iterable[str]) -> None:
        with self._translated():
            for key in keys:
                with suppress(FileNotFoundError):
                    (self._root / key).unlink()
                    self._unsynced.add((self._root / key).parent)
        self.settle()

    @contextmanager
    def hold(self, prefix: str) -> Iterator[None]:
        with self._translated():
            self._check_root()
            folder = self._root / prefix
            for each in (*reversed(folder.relative_to(self._root).parents), Path(prefix)):
                self._make_folder(self._root / each)
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict("another backup of this is under way", hint="wait for its end") from None
            except OSError:
                raise unreachable_error(self.name) from None
            with self._translated():
                self._sweep(folder)
            yield
        finally:
            os.close(descriptor)

    def _make_folders(self, folder: Path) -> None:
        """The last two only: where more is missing the disk has gone."""
        for each in (folder.parent, folder):
            self._make_folder(each)

    def _make_folder(self, folder: Path) -> None:
        if folder == self._root:
            return
        with suppress(FileExistsError):
            folder.mkdir(FOLDER_MODE)
            self._unsynced.add(folder.parent)  # until ``settle`` a power cut takes it along, with all that is in it

    def _write(self, path: Path, pieces: Iterable[bytes]) -> None:
        partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            try:
                for piece in pieces:
                    write_all(descriptor, memoryview(piece))
                os.fsync(descriptor)
                if hasattr(os, "posix_fadvise"):  # whoever reads it back is to read the disk
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise

    def _walk(self, folder: Path, prefix: str) -> Iterator[StoredObject]:
        try:
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            key = f"{prefix.rstrip('/')}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(folder / entry.name, key)
            elif entry.is_file(follow_symlinks=False):
                try:
                    state = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # who may delete here has just done so
                    continue
                yield _describe(key, state)

    def _sweep(self, folder: Path) -> None:
        for place, folders, names in os.walk(folder):
            # A part that is held by itself, as the change log is, has a holder of its own, who may be writing.
            folders[:] = [each for each in folders if not (Path(place) / each / LOCK).exists()]
            for name in names:
                if name.startswith(".") and name.endswith(PARTIAL):
                    (Path(place) / name).unlink(missing_ok=True)

    def _check_root(self) -> None:
        if not self._root.is_dir():
            raise unreachable_error(self.name)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            raise self._error(failure) from failure

    def _error(self, failure: OSError) -> StrongroomError:
        if failure.errno in _FULL:
            hint = "free space there, or keep fewer backups (backup.keep)"
            return StorageFull(f"the target of backups is full: {self.name}", hint=hint)
        if failure.errno == errno.EROFS:
            return ReadOnly(f"the target of backups cannot be written: {self.name}", hint="look how it is mounted")
        if failure.errno in _REFUSED:
            return Forbidden(f"the target of backups lets this server not in: {self.name}", hint="look at its owner")
        return unreachable_error(self.name)


def _describe(key: str, state: os.stat_result) -> StoredObject:
    return StoredObject(key, state.st_size, datetime.fromtimestamp(state.st_mtime, UTC))

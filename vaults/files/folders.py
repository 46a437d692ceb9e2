"""Folders of a vault, opened so that no link is ever passed through.

A path is taken apart and every folder opened relative to the one before it, never following a link. What is done in
the folder then happens relative to its descriptor, so a folder that is swapped for a link meanwhile changes nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vaults.errors import InvalidArgument, VaultUnavailable
from vaults.files.failures import machine_failure
from vaults.files.file_stamps import status_at

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_WAIT_S = 1.0


def path_segments(path: str) -> list[str]:
    """The names in a vault-relative path; none for the vault's own folder. Raises InvalidArgument if one climbs."""
    names = path.split("/") if path else []
    if any(name in ("", ".", "..") or "\0" in name for name in names):
        raise InvalidArgument("path", "must stay inside the vault")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as failure:
        raise InvalidArgument("path", "must be valid Unicode") from failure
    return names


def open_subfolder(folder: int, name: str) -> int:
    """Descriptor of the folder ``name`` in ``folder``. ``ELOOP`` for a link, on every system."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        # Linux says ENOTDIR for a link too.
        if stat.S_ISLNK(status_at(folder, name).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


class VaultRoot:
    """The vault's own folder. It is opened for each operation, and must stay the folder it was at first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None

    def open(self) -> int:
        """A descriptor, owned by the caller. Raises VaultUnavailable when the folder is gone or another one."""
        try:
            # The operator may name the folder by a link; nothing below it is followed.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as failure:
            raise machine_failure(failure) or _root_missing_error() from failure
        status = os.fstat(descriptor)
        identity = (status.st_dev, status.st_ino)
        if self._identity is None:
            self._identity = identity
        if identity != self._identity:
            os.close(descriptor)
            raise VaultUnavailable(
                "the vault's folder is not the one it was", hint="is its disk mounted? Otherwise restart the server"
            )
        return descriptor

    def descend(self, names: Sequence[str]) -> int:
        """Descriptor of the folder that ``names`` lead to, owned by the caller."""
        descriptor = self.open()
        for name in names:
            try:
                deeper = open_subfolder(descriptor, name)
            finally:
                os.close(descriptor)
            descriptor = deeper
        return descriptor

    @contextmanager
    def folder(self, names: Sequence[str]) -> Iterator[int]:
        """As ``descend``, closed at the end."""
        descriptor = self.descend(names)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class OpenFolder:
    """An open folder that writers share: one descriptor, however many changes are prepared in it."""

    descriptor: int
    path: str
    identity: tuple[int, int]
    users: int


class OpenFolders:
    """Folders in which changes are prepared at the moment.

    Each is held under a shared kernel lock, which dies with the process: a folder that can be locked exclusively has
    no writer at work, here or in another process, so temporary files in it are orphans.
    """

    def __init__(self, root: VaultRoot) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._held: dict[tuple[int, int], OpenFolder] = {}

    def hold(self, names: Sequence[str]) -> OpenFolder:
        """The folder, opened anew or shared; give it back with ``release``."""
        descriptor = self.root.descend(names)
        _lock_shared(descriptor)
        status = os.fstat(descriptor)
        identity = (status.st_dev, status.st_ino)
        with self._lock:
            folder = self._held.get(identity)
            if folder is None:
                folder = self._held[identity] = OpenFolder(descriptor, "/".join(names), identity, 0)
            else:
                os.close(descriptor)
            folder.users += 1
            return folder

    def release(self, folder: OpenFolder) -> None:
        with self._lock:
            folder.users -= 1
            if not folder.users:
                del self._held[folder.identity]
                os.close(folder.descriptor)


def _lock_shared(descriptor: int) -> None:
    """Waits for a sweep to finish, which takes moments. A lock held longer is somebody else's, not a sweep's, and must
    not stop writing. Nor must a file system without locks: there the sweep gets none either, and removes nothing."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.002)
        except OSError:
            return
        else:
            return


@contextmanager
def try_lock_folder(descriptor: int) -> Iterator[bool]:
    """Whether no writer is at work in the folder; if so, none can start inside the block."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _root_missing_error() -> VaultUnavailable:
    return VaultUnavailable("the vault's folder cannot be opened", hint="the operator must check that it is there")

"""References of one repository: reads any, and moves strongroom's own by compare-and-swap.

A reference moves as git moves it: make ``<ref>.lock`` exclusively, check the old value, rename the lock over the
reference. So git commands and other strongroom processes may run at the same time. No reflog is written.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vaults.errors import InvalidArgument
from vaults.files.atomic import sync_folder
from vaults.history.errors import HistoryUnavailable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_SAFE_REF = re.compile(rb"refs(/[^\x00-\x20\x7f~^:?*\[\\/.][^\x00-\x20\x7f~^:?*\[\\/]*)+")
_ID = re.compile(rb"[0-9a-f]{40}")
_WAIT_S, _PAUSE_S = 1.0, 0.005
_STALE_AFTER_S = 30.0  # a lock is held for one small write; one this old was left by a kill
_LARGEST_PACKED_REFS = 64 * 1024 * 1024
_DEEPEST_SYMBOLIC = 5


def own_ref(name: str) -> str:
    """``refs/strongroom/<name>``. Raises InvalidArgument for a name git would not take."""
    if not _NAME.fullmatch(name) or name.endswith(".lock") or len(name) > 128:
        raise InvalidArgument("ref_name", "must be letters, digits, '-', '_' and single dots")
    return f"refs/strongroom/{name}"


class Refs:
    """``private`` holds HEAD, ``common`` the references: the same folder, except for linked worktrees."""

    def __init__(self, private: Path, common: Path) -> None:
        self._private = private
        self._common = common

    def head(self) -> str | None:
        """The commit of the checked-out branch or of a detached HEAD; None before the first commit."""
        value = read_small_file(self._private / "HEAD")
        for _ in range(_DEEPEST_SYMBOLIC):
            if value is None:
                raise HistoryUnavailable("the repository is damaged")
            if not value.startswith(b"ref:"):
                return _parse_commit_id(value)
            name = value[4:].strip()
            if not _SAFE_REF.fullmatch(name) or b".." in name:
                raise HistoryUnavailable("the repository is damaged")
            path = self._common / os.fsdecode(name)
            self._require_contained(path)
            value = read_small_file(path)
            if value is None:
                return self._read_packed(name)
        raise HistoryUnavailable("the repository is damaged")

    def read(self, ref: str) -> str | None:
        """The commit that one of strongroom's references points to; None when there is none yet."""
        path = self._common / ref
        self._require_contained(path)
        value = read_small_file(path)
        if value is not None:
            return _parse_commit_id(value)
        found = self._read_packed(ref.encode())
        if found is None and read_small_file(self._private / "HEAD") is None:
            raise HistoryUnavailable("the repository is gone")
        return found

    def move(self, ref: str, expected: str | None, new: str) -> bool:
        """Point ``ref`` to ``new`` if it points to ``expected``; False, and nothing done, if it does not.

        Durable when it returns. Raises HistoryUnavailable when somebody else holds the lock for too long.
        """
        path = self._common / ref
        self._require_contained(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _lock_ref(path, new) as lock:
            if self.read(ref) != expected:
                return False
            inode = lock.lstat().st_ino
            lock.rename(path)
            sync_folder(path.parent)
            # A process that was stopped for longer than a lock lives may have renamed another one's lock.
            return path.lstat().st_ino == inode

    def _require_contained(self, path: Path) -> None:
        """Raises HistoryUnavailable if a folder on the way is a link, which would lead into another repository."""
        if path.parent.resolve() != self._common.resolve() / path.parent.relative_to(self._common):
            raise HistoryUnavailable("the repository is damaged")

    def _read_packed(self, name: bytes) -> str | None:
        data = read_small_file(self._common / "packed-refs", _LARGEST_PACKED_REFS)
        found = re.search(rb"^([0-9a-f]{40}) %s$" % re.escape(name), data, re.MULTILINE) if data else None
        return found[1].decode() if found else None


@contextmanager
def _lock_ref(path: Path, new: str) -> Iterator[Path]:
    """The reference's lock file, already holding the new value; removed on exit unless it was renamed."""
    lock = path.with_name(path.name + ".lock")
    descriptor = _take_lock(lock)
    inode = os.fstat(descriptor).st_ino
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(new.encode() + b"\n")
            file.flush()
            os.fsync(descriptor)
        yield lock
    finally:
        with suppress(OSError):
            if lock.lstat().st_ino == inode:
                lock.unlink()


def _take_lock(lock: Path) -> int:
    """Make the lock file, waiting up to ``_WAIT_S`` while another process holds it."""
    ends = time.monotonic() + _WAIT_S
    mode = lock.parent.stat().st_mode & 0o644  # readable only by those who may read the folder
    while True:
        _clear_stale(lock)
        try:
            return os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError as failure:
            if time.monotonic() > ends:
                raise HistoryUnavailable("its reference is locked") from failure
            time.sleep(_PAUSE_S)


def _clear_stale(lock: Path) -> None:
    """Remove a lock left by a kill. Only strongroom writes under ``refs/strongroom``; index.lock is never touched."""
    with suppress(FileNotFoundError):
        # Either way round: after the clock was set back, an old lock lies in the future.
        if abs(time.time() - lock.lstat().st_mtime) > _STALE_AFTER_S:
            lock.unlink()


def read_small_file(path: Path, most: int = 4096) -> bytes | None:
    """A regular file's bytes; None when absent. Never follows a link at ``path`` itself, never waits for a FIFO."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise HistoryUnavailable("the repository is damaged")
        return file.read()


def _parse_commit_id(value: bytes) -> str:
    oid = value.strip()
    if not _ID.fullmatch(oid):
        raise HistoryUnavailable("the repository is damaged")
    return oid.decode()

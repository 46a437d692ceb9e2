"""Which process does a vault's background work: a kernel file lock, freed by death."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from vaults.files.permissions import FILE_MODE, tighten_permissions


class Lease:
    """Held by at most one process. ``try_acquire`` never waits."""

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path, timeout=0, mode=FILE_MODE, thread_local=False)

    @property
    def held(self) -> bool:
        return bool(self._lock.is_locked)

    def try_acquire(self) -> bool:
        """Whether this process holds the lease now. False also where the folder cannot be written."""
        if self.held:
            return True
        try:
            tighten_permissions(Path(self._lock.lock_file), FILE_MODE)
            self._lock.acquire(blocking=False)
        except (Timeout, OSError):
            return False
        return True

    def release(self) -> None:
        self._lock.release(force=True)

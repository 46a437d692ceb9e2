"""Catches what other programs write into a file after it was replaced or removed.

Some programs save by truncating and writing in place. One that opened the note just before the exchange writes into
the file that was taken away: its save would vanish with that file. So that file stays open for a moment, and whatever
is written into it then goes to the caller, who keeps it as another version.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from vaults.files.file_content import read_up_to
from vaults.files.file_stamps import FileStamp, stamp_of
from vaults.files.writes.renames import FolderEntry

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = 64 * 1024 * 1024  # far above any note; still a bound on memory


@dataclass(frozen=True, slots=True)
class LateWrite:
    """What another program wrote to ``path`` after it was replaced or removed."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _KeptFile:
    path: str
    descriptor: int
    stamp: FileStamp
    until: float


def open_for_late_writes(entry: FolderEntry) -> int | None:
    """A descriptor of the file that stands at ``place``, for ``LateWrites.keep``; None if it may not be read."""
    with suppress(OSError):
        return os.open(entry.name, _FILE, dir_fd=entry.folder)
    return None


class LateWrites:
    """Keeps replaced and removed files open for ``seconds``, ``limit`` at a time at most; safe from any thread.

    The owner calls ``due`` every second or so, and ``close`` at the end. ``clock`` is monotonic, in seconds.
    """

    def __init__(self, seconds: float = 2.0, limit: int = 64, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: deque[_KeptFile] = deque()
        self._found: list[LateWrite] = []

    def keep(self, path: str, descriptor: int | None, stamp: FileStamp) -> None:
        """Takes over the descriptor of a file that was taken away as version ``stamp``. When too many are kept, the
        oldest is checked early."""
        if descriptor is None:
            return
        with self._lock:
            self._kept.append(_KeptFile(path, descriptor, stamp, self._clock() + self._seconds))
            while len(self._kept) > self._limit:
                self._look(self._kept.popleft())

    def due(self, now: float) -> list[LateWrite]:
        """What was written late into files whose time has passed at ``now``; each is reported once."""
        with self._lock:
            while self._kept and self._kept[0].until <= now:
                self._look(self._kept.popleft())
            found, self._found = self._found, []
            return found

    def close(self) -> list[LateWrite]:
        """Checks everything still kept, whatever its time."""
        return self.due(float("inf"))

    def hold(self, late: LateWrite) -> None:
        """Takes back what could not be kept yet: ``due`` reports it again."""
        with self._lock:
            self._found.append(late)

    def __len__(self) -> int:
        """Files held open, and reports not fetched yet."""
        return len(self._kept) + len(self._found)

    def _look(self, kept: _KeptFile) -> None:
        try:
            # A file that cannot be read any more has nothing to report.
            with suppress(OSError):
                if not stamp_of(os.fstat(kept.descriptor)).same(kept.stamp):
                    self._found.append(LateWrite(kept.path, read_up_to(kept.descriptor, _MAX_BYTES)))
        finally:
            os.close(kept.descriptor)

"""Reading a database's file beside SQLite, through a descriptor that SQLite itself has open.

Closing any other descriptor of the file would drop the locks this process holds on it: that is how POSIX locks work.
So none is opened. SQLite may close its descriptor at any time, and the number may then be another file's: what was
read counts only if the descriptor is still the database's afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vaults.errors import VaultUnavailable

DESCRIPTORS = Path("/dev/fd")

NEAR = 8
"""Numbers looked at before all that are open: with sixty vaults these are a thousand."""


class OpenFile:
    """Reads from a file somebody in this process has open. Found soonest where that one opens it right after this was
    made: the system gives out the lowest number that is free."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._near = _lowest_free()

    def read(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes: fewer where the file ends. Raises ``VaultUnavailable`` if nobody has it open."""
        wanted = _identify(self._path.stat())
        for known in (True, False):
            if not known or self._descriptor is None:
                self._descriptor = _find_descriptor(wanted, self._near)
            try:
                data = os.pread(self._descriptor, size, offset)
                if _identify(os.fstat(self._descriptor)) == wanted:
                    return data
            except OSError:
                continue
        raise VaultUnavailable("the database's file was closed while it was read", reason="io")

    def size(self) -> int:
        """Bytes of the file."""
        return self._path.stat().st_size


def _identify(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _find_descriptor(wanted: tuple[int, int], near: int) -> int:
    for number in _likely_first(near):
        try:
            if _identify(os.fstat(number)) == wanted:
                return number
        except OSError:  # not open, or closed since it was listed
            continue
    raise VaultUnavailable("nobody has the database's file open", reason="io")


def _likely_first(near: int) -> Iterator[int]:
    yield from range(near, near + NEAR)
    for entry in DESCRIPTORS.iterdir():
        yield int(entry.name)


def _lowest_free() -> int:
    """The number of the file that is opened next, unless another thread is quicker."""
    number = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.close(number)
    return number

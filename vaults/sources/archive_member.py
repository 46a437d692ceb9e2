"""What a member of an archive is, wherever it lies."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from vaults import clock
from vaults.errors import InvalidArgument, StrongroomError

UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, StrongroomError)
"""What opening and reading a member may raise."""


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in an archive, by its path with slashes. ``refused``: why it is not read; then it cannot be opened."""

    path: str
    size: int
    modified_at: str | None
    opener: Callable[[], IO[bytes]]
    refused: str | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def open(self) -> IO[bytes]:
        """The member's bytes. Opening and reading may raise ``UNREADABLE``."""
        return self.opener()

    def read(self, limit: int) -> bytes:
        """All bytes. Raises ``UNREADABLE``, ``InvalidArgument`` for more than ``limit`` of them."""
        with self.open() as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise InvalidArgument("file", f"is larger than {limit} bytes")
        return data


def refuse(path: str, reason: str) -> ArchiveMember:
    """A member that is there but is not read."""

    def opener() -> IO[bytes]:
        raise OSError(reason)

    return ArchiveMember(path.encode("utf-8", "replace").decode(), 0, None, opener, reason)


def explain(failure: BaseException) -> str:
    """What ``UNREADABLE`` failures mean, for the owner of the file."""
    if isinstance(failure, StrongroomError):
        return failure.message.removeprefix("Validation error: ")
    if isinstance(failure, OSError):
        return f"cannot be read: {failure.strerror or failure}"
    return "is damaged"


def to_moment(seconds: float) -> str | None:
    """A time of a file, where it is one of our calendar."""
    try:
        return clock.to_text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None

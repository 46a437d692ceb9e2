"""Files in batches, so that none takes too much memory or time at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from vaults.files.file_stamps import FileStamp


class StampedFile(Protocol):
    """A file as it was found."""

    @property
    def stamp(self) -> FileStamp: ...


FileT = TypeVar("FileT", bound=StampedFile)


def split_batches(found: Sequence[FileT], most: int, most_bytes: int) -> Iterator[list[FileT]]:
    """Split files into batches of ``most`` files and ``most_bytes``; one that is larger is alone."""
    batch: list[FileT] = []
    size = 0
    for each in found:
        if batch and (len(batch) == most or size + each.stamp.size > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.stamp.size
    if batch:
        yield batch

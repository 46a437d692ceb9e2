"""A database file that nobody has open, as the base that the log of a vault ends with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vaults.cluster.base_images import PART_BYTES
from vaults.cluster.page_frames import LogHead, first_checksum
from vaults.cluster.page_transfer import digest_pages
from vaults.cluster.vault_log import Placement


@dataclass(frozen=True, slots=True)
class FileBase:
    """A ``WholeDatabase``: the whole file, which nobody changes meanwhile."""

    vault: str
    head: LogHead
    database: Path

    def read(self) -> Iterator[bytes]:
        """The pages in order, ``PART_BYTES`` at a time."""
        at_once = PART_BYTES // self.head.page_size * self.head.page_size
        with self.database.open("rb") as opened:
            while data := opened.read(at_once):
                yield data


def base_of_file(placement: Placement, seq: int, database: Path, page_size: int) -> FileBase:
    """The base as of ``seq`` of the vault of ``placement``: the file at ``database``, with no log beside it. Its chain
    of entries begins anew. Blocking."""
    with database.open("rb") as opened:
        pages = digest_pages(opened, page_size)
    checksum = first_checksum(placement.vault, pages.total)
    return FileBase(
        placement.vault, LogHead(seq, placement.epoch, checksum, pages.total, pages.size, page_size), database
    )

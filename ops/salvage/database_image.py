"""A damaged database as its pages: the file with the trustworthy frames of its log laid over it. Nothing is written.

Of the file's header only what can be checked is believed; where it is gone, the pages themselves tell how long one is.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ops.salvage.tree_pages import TreePage, parse_page
from vaults.db.trusted_frames import TrustedFrames, read_trusted

MAGIC = b"SQLite format 3\0"
USUAL_PAGE_SIZE = 4096
_SIZES = tuple(1 << bits for bits in range(9, 17))
_PROBES = 400
_PENDING_BYTE = 0x40000000


@dataclass(slots=True)
class DatabaseImage:
    """Pages by number, from 1. ``has_header``: the header of the file could be read."""

    size: int
    count: int
    data: mmap.mmap | bytes
    log: TrustedFrames
    has_header: bool
    pointer_maps: bool
    change: int | None
    """``user_version``; None where the header is gone."""
    _parsed: dict[int, TreePage | None] = field(default_factory=dict)

    def page(self, number: int) -> bytes | None:
        """The bytes of a page; None where there is none, or not all of it."""
        if number in self.log.images:
            return self.log.images[number]
        begin = (number - 1) * self.size
        if not 1 <= number <= self.count or begin + self.size > len(self.data):
            return None
        return self.data[begin : begin + self.size]

    def tree(self, number: int) -> TreePage | None:
        """The page as one of a tree; None where it is none. Interior pages are remembered."""
        if number in self._parsed:
            return self._parsed[number]
        data = self.page(number)
        found = parse_page(data, self.size, first=number == 1) if data is not None else None
        if found is None or found.is_interior:
            self._parsed[number] = found
        return found

    @property
    def lock_page(self) -> int:
        """The page SQLite leaves alone, in files of a gigabyte and more."""
        return _PENDING_BYTE // self.size + 1


@contextmanager
def open_image(path: Path, log_path: Path | None = None) -> Iterator[DatabaseImage]:
    """The pages of the database at ``path``, which may be gone while its log is there. Both files are only read.
    Blocking."""
    log = read_trusted(log_path.read_bytes()) if log_path is not None and log_path.exists() else TrustedFrames()
    if not path.exists() or path.stat().st_size == 0:
        yield _describe(b"", log)
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield _describe(data, log)


def _describe(data: mmap.mmap | bytes, log: TrustedFrames) -> DatabaseImage:
    size = log.page_size or _page_size(data)
    head = log.images.get(1) or bytes(data[:size])
    known = head[:16] == MAGIC and _header_size(head) == size and head[21:24] == b"\x40\x20\x20"
    in_file = -(-len(data) // size)
    counted = int.from_bytes(head[28:32]) if known else 0
    count = log.page_count or max(in_file, min(counted, in_file + (1 << 20)))
    maps = bool(int.from_bytes(head[52:56])) if known else _looks_mapped(data, size, in_file)
    change = int.from_bytes(head[60:64]) if known else None
    return DatabaseImage(size, count, data, log, known, maps, change)


def _header_size(head: bytes) -> int:
    stated = int.from_bytes(head[16:18])
    return 65536 if stated == 1 else stated


def _page_size(data: mmap.mmap | bytes) -> int:
    stated = _header_size(data[:18]) if data[:16] == MAGIC else 0
    if stated in _SIZES:
        return stated
    found = {size: _sound_pages(data, size) for size in _SIZES}
    best = max(found, key=lambda size: (found[size], size == USUAL_PAGE_SIZE))
    return best if found[best] else USUAL_PAGE_SIZE


def _sound_pages(data: mmap.mmap | bytes, size: int) -> int:
    """Of pages spread over the file, how many are whole leaves, weighed by their length."""
    pages = len(data) // size
    step = max(1, pages // _PROBES)
    found = 0
    for number in range(1, pages, step):
        page = parse_page(data[number * size : (number + 1) * size], size)
        found += page is not None and page.sound and bool(page.cells)
    return found * step * size


def _looks_mapped(data: mmap.mmap | bytes, size: int, pages: int) -> bool:
    """Whether the second page reads as a map of the pages after it."""
    entries = data[size : 2 * size]
    seen = min(size // 5, max(pages - 2, 0))
    kinds = [entries[at * 5] for at in range(seen) if len(entries) >= (at + 1) * 5]
    return bool(kinds) and all(1 <= kind <= 5 for kind in kinds)

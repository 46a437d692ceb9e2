"""The file a log of pages is replayed into.

A few pages change with nearly every commit. So pages stay in memory while commits follow each other, and are written
and hashed once for many of them. The digest of the whole database is then compared with what the last of these commits
says: it covers them all, because each page is what all of them together made of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from vaults.db.page_changes import WHOLE, PageChange
from vaults.db.page_digests import PageDigests, digest_page

HELD_BYTES = 32 * 1024 * 1024
"""Bytes of pages that are held before they are written."""


class ReplayedFile:
    """``lay_base`` or ``go_on``, ``apply`` for each commit, ``settle`` at the end. Blocking. Raises what ``refuse``
    makes of a reason where a log does not lead to what it says."""

    def __init__(self, descriptor: int, refuse: Callable[[str], Exception]) -> None:
        self._descriptor = descriptor
        self._refuse = refuse
        self._page_size = 0
        self._held: dict[int, npt.NDArray[np.uint64]] = {}
        self._last: tuple[int, bytes] | None = None
        """Of the last commit: its number, and the digest after it."""
        self.digests = PageDigests(512)
        """Of the pages in the file, which are those after the last commit once it is settled."""

    def lay_base(self, page_size: int, parts: Iterable[bytes]) -> None:
        """Write the whole database that commits are to follow. The caller compares its digest."""
        self._page_size = page_size
        self.digests = PageDigests(page_size)
        for part in parts:
            self._write_at(self.digests.size * page_size, part)
            for offset in range(0, len(part), page_size):
                number = self.digests.size + 1
                self.digests.set(number, digest_page(number, part[offset : offset + page_size]))

    def go_on(self, page_size: int, digests: PageDigests) -> None:
        """Take the file as it is for the database that commits are to follow. ``digests``: of its pages when they were
        written; they follow the commits. A page that changed since by itself is found out where a commit changes it."""
        self._page_size = page_size
        self.digests = digests

    def resize(self, size: int) -> None:
        """Cut pages off, or add pages of zeros."""
        for number in [each for each in self._held if each > size]:  # some may not be in the file yet
            del self._held[number]
        if size != self.digests.size:
            self.digests.resize(size)
            os.ftruncate(self._descriptor, size * self._page_size)

    def apply(self, sequence: int, digest: bytes, pages: Iterable[PageChange]) -> None:
        """Go on by one commit, after which the whole database has that digest. Pages come in order; those that are not
        there yet follow the last one."""
        held, most = self._held, HELD_BYTES // self._page_size
        for number, kind, data in pages:
            change = np.frombuffer(data, np.uint64)
            if kind == WHOLE:
                held[number] = change.copy()
            elif (page := held.get(number)) is not None:
                np.bitwise_xor(page, change, out=page)
            else:
                held[number] = np.bitwise_xor(self._read(number), change)
            if len(held) > 2 * most:  # in the middle of a large one
                self._write_held()
        self._last = sequence, digest
        if len(held) > most:
            self.settle()

    def settle(self) -> None:
        """Write what is held; the file then is the database after the last commit, or this raises."""
        self._write_held()
        if self._last is not None and self.digests.total != self._last[1]:
            raise self._refuse(f"does not lead to what the database was after commit {self._last[0]}")

    def _write_held(self) -> None:
        for number in sorted(self._held):
            data = self._held[number].tobytes()
            self._write_at((number - 1) * self._page_size, data)
            self.digests.set(number, digest_page(number, data))
        self._held.clear()

    def _read(self, number: int) -> npt.NDArray[np.uint64]:
        data = os.pread(self._descriptor, self._page_size, (number - 1) * self._page_size)
        if len(data) != self._page_size:
            raise self._refuse(f"changes a page that is not there: {number}")
        return np.frombuffer(data, np.uint64)

    def _write_at(self, offset: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written

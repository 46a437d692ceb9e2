"""The file a log is replayed into.

A few pages change with nearly every commit. So pages stay in memory while commits follow each other, and are written
and hashed once for many of them. The digest of the whole database is then compared with what the last of these commits
says: it covers them all, because each page is what all of them together made of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ops.change_log.bases import BaseManifest
from ops.change_log.failures import broken_log
from ops.change_log.page_digests import PageDigests, digest_page
from ops.change_log.records import WHOLE, LoggedCommit

HELD_BYTES = 32 * 1024 * 1024
"""Bytes of pages that are held before they are written."""


class ReplayedFile:
    """``lay_base``, ``apply`` for each commit, ``settle`` at the end. Blocking. Raises ``InvalidArgument`` where a log
    does not lead to what it says."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._page_size = 0
        self._digests = PageDigests(512)
        self._held: dict[int, npt.NDArray[np.uint64]] = {}
        self._last: LoggedCommit | None = None

    def lay_base(self, manifest: BaseManifest, parts: Iterator[bytes]) -> None:
        """Write the whole database that commits are to follow."""
        self._page_size = manifest.page_size
        self._digests = PageDigests(manifest.page_size)
        for part in parts:
            self._write_at(self._digests.size * self._page_size, part)
            for offset in range(0, len(part), self._page_size):
                number = self._digests.size + 1
                self._digests.set(number, digest_page(number, part[offset : offset + self._page_size]))
        if self._digests.total.hex() != manifest.digest:
            raise broken_log(f"holds a base that is not the database it was made of: {manifest.name}")

    def apply(self, record: LoggedCommit) -> None:
        """Go on by one commit."""
        if record.size != self._digests.size:
            self._resize(record.size)
        held = self._held
        for number, kind, data in record.pages:
            change = np.frombuffer(data, np.uint64)
            if kind == WHOLE:
                held[number] = change.copy()
            elif (page := held.get(number)) is not None:
                np.bitwise_xor(page, change, out=page)
            else:
                held[number] = np.bitwise_xor(self._read(number), change)
        self._last = record
        if len(held) * self._page_size > HELD_BYTES:
            self.settle()

    def settle(self) -> None:
        """Write what is held; the file then is the database after the last commit, or this raises."""
        if self._last is None:
            return
        for number in sorted(self._held):
            data = self._held[number].tobytes()
            self._write_at((number - 1) * self._page_size, data)
            self._digests.set(number, digest_page(number, data))
        self._held.clear()
        if self._digests.total != self._last.digest:
            raise broken_log(f"does not lead to what the database was after commit {self._last.sequence}")

    def _resize(self, size: int) -> None:
        for number in [each for each in self._held if each > size]:
            del self._held[number]
        self._digests.resize(size)
        os.ftruncate(self._descriptor, size * self._page_size)

    def _read(self, number: int) -> npt.NDArray[np.uint64]:
        data = os.pread(self._descriptor, self._page_size, (number - 1) * self._page_size)
        if len(data) != self._page_size:
            raise broken_log(f"changes a page that is not there: {number}")
        return np.frombuffer(data, np.uint64)

    def _write_at(self, offset: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written

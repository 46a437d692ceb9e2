"""What a transaction changed, page by page.

A page is kept as the difference from what it was before, or whole: where that is not known, and where the difference is
more than the page, as with pages that were emptied or moved. Both pack to little: what is the same is zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

import numpy as np

from vaults.db.page_digests import PageDigests, digest_page
from vaults.db.wal_frames import WalCommit
from vaults.db.wal_tail import WalTail

WHOLE, DIFFERENCE = 0, 1

PAGES_AT_ONCE = 64
"""Pages that are compared at once: one by one takes several times as long."""

RECENT_BYTES = 512 * 1024
"""Bytes of pages that are kept because they changed lately: most of those that change next are among them."""


class PageChange(NamedTuple):
    """One of tens of thousands a second where a log is replayed: a tuple is made in a third of the time."""

    number: int
    kind: int
    data: bytes | memoryview


class ChangeReader:
    """``tail`` and ``digests`` stand at one state. The caller steps ``tail`` after each commit; ``digests`` follow."""

    def __init__(self, tail: WalTail, digests: PageDigests) -> None:
        self._tail = tail
        self.digests = digests
        self._recent: dict[int, bytes] = {}
        """Pages as they are, those that changed last at the end."""

    def read(self, commit: WalCommit) -> Iterator[PageChange]:
        """The pages of ``commit`` in order, every page among them that the database grew by. Raises ``WalGap``."""
        known = min(self.digests.size, commit.size)
        self.digests.resize(commit.size)
        pages = self._written(commit, known)
        while some := list(islice(pages, PAGES_AT_ONCE)):
            yield from self._compare(some, known)

    def _written(self, commit: WalCommit, known: int) -> Iterator[tuple[int, bytes]]:
        """SQLite need not write a page that the database grew by: it is zeros then."""
        left_out = [number for number in range(known + 1, commit.size + 1) if number not in commit.pages]
        zeros = bytes(self._tail.page_size)
        pages = self._tail.pages_of(commit)
        return merge(pages, ((number, zeros) for number in left_out)) if left_out else pages

    def _compare(self, pages: list[tuple[int, bytes]], known: int) -> Iterator[PageChange]:
        size, zeros = self._tail.page_size, bytes(self._tail.page_size)
        before = [self._page_before(number) if number <= known else None for number, _ in pages]
        after = np.frombuffer(b"".join([data for _, data in pages]), np.uint64).reshape(len(pages), -1)
        difference = after ^ np.frombuffer(b"".join([each or zeros for each in before]), np.uint64).reshape(after.shape)
        less = np.count_nonzero(difference, axis=1) <= np.count_nonzero(after, axis=1)
        differences = difference.data.cast("B")
        self.digests.replace([(number, digest_page(number, data)) for number, data in pages])
        for place, ((number, data), old, is_less) in enumerate(zip(pages, before, less.tolist(), strict=True)):
            self._keep(number, data)
            if old is not None and is_less:
                yield PageChange(number, DIFFERENCE, differences[place * size : (place + 1) * size])
            else:
                yield PageChange(number, WHOLE, data)

    def _page_before(self, number: int) -> bytes | None:
        """None where it cannot be told: another process may have moved a later one into the file."""
        if (recent := self._recent.get(number)) is not None:
            return recent
        found = self._tail.page(number)
        return found if found is not None and digest_page(number, found) == self.digests.of(number) else None

    def _keep(self, number: int, data: bytes) -> None:
        self._recent.pop(number, None)
        self._recent[number] = data
        if len(self._recent) * len(data) > RECENT_BYTES:
            del self._recent[next(iter(self._recent))]

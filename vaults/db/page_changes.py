"""What a transaction changed, page by page.

A page is kept as the difference from what it was before, or whole: where that is not known, and where the difference is
more than the page, as with pages that were emptied or moved. Both pack to little: what is the same is zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

import numpy as np

from vaults.db.page_digests import PageDigests, digest_page
from vaults.db.wal_frames import WalCommit
from vaults.db.wal_tail import WalTail

WHOLE, DIFFERENCE = 0, 1


class PageChange(NamedTuple):
    """One of tens of thousands a second where a log is replayed: a tuple is made in a third of the time."""

    number: int
    kind: int
    data: bytes | memoryview


def read_changes(tail: WalTail, digests: PageDigests, commit: WalCommit) -> Iterator[PageChange]:
    """The pages of ``commit`` in order, every page among them that the database grew by. ``tail`` stands before the
    commit, and ``digests`` are of that state: they become those of the state after it. Raises ``WalGap``."""
    known = min(digests.size, commit.size)
    digests.resize(commit.size)
    for number, data in _written(tail, commit, known):
        before = tail.page(number) if number <= known else None
        is_known = before is not None and digest_page(number, before) == digests.of(number)
        digests.set(number, digest_page(number, data))
        yield _change(number, data, before if is_known else None)


def _written(tail: WalTail, commit: WalCommit, known: int) -> Iterator[tuple[int, bytes]]:
    """SQLite need not write a page that the database grew by: it is zeros then."""
    left_out = [number for number in range(known + 1, commit.size + 1) if number not in commit.pages]
    zeros = bytes(tail.page_size)
    pages = tail.pages_of(commit)
    return merge(pages, ((number, zeros) for number in left_out)) if left_out else pages


def _change(number: int, data: bytes, before: bytes | None) -> PageChange:
    if before is None:
        return PageChange(number, WHOLE, data)
    after = np.frombuffer(data, np.uint64)
    difference = np.bitwise_xor(after, np.frombuffer(before, np.uint64))
    if np.count_nonzero(difference) > np.count_nonzero(after):
        return PageChange(number, WHOLE, data)
    return PageChange(number, DIFFERENCE, difference.tobytes())

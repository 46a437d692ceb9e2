"""Turns what was committed into records: the pages of each commit, as differences from what they were before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ops.change_log.page_digests import PageDigests, digest_page
from ops.change_log.records import DIFFERENCE, MAX_COMMIT_BYTES, WHOLE, LoggedCommit, PageChange, subtract
from vaults.db.wal_frames import WalCommit
from vaults.db.wal_tail import WalGap, WalTail


class Recorder:
    """Blocking; one thread at a time. ``digests`` are of the state at the position of ``tail``."""

    def __init__(self, tail: WalTail, digests: PageDigests, sequence: int) -> None:
        self._tail = tail
        self.digests = digests
        self.sequence = sequence
        """Of the last commit that was recorded."""

    def record(self, date: Callable[[], int]) -> Iterator[LoggedCommit]:
        """Each commit since the last one. Raises ``WalGap`` if commits went by unread, or one is too large."""
        for commit in self._tail.read():
            if len(commit.pages) * self._tail.page_size > MAX_COMMIT_BYTES:
                raise WalGap
            pages = tuple(self._changes(commit))
            self._tail.step(commit)
            self.sequence += 1
            yield LoggedCommit(self.sequence, date(), commit.size, self.digests.total, pages)

    def _changes(self, commit: WalCommit) -> Iterator[PageChange]:
        known = min(self.digests.size, commit.size)
        self.digests.resize(commit.size)
        for number, data in self._tail.pages_of(commit):
            before = self._tail.page(number) if number <= known else None
            is_known = before is not None and digest_page(number, before) == self.digests.of(number)
            self.digests.set(number, digest_page(number, data))
            if before is not None and is_known:
                yield PageChange(number, DIFFERENCE, subtract(data, before))
            else:
                yield PageChange(number, WHOLE, data)

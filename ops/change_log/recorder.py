"""Turns what was committed into records: the pages of each commit, as differences from what they were before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ops.change_log.records import MAX_COMMIT_BYTES, LoggedCommit
from vaults.db.page_changes import ChangeReader
from vaults.db.page_digests import PageDigests
from vaults.db.wal_tail import WalGap, WalTail


class Recorder:
    """Blocking; one thread at a time. ``digests`` are of the state at the position of ``tail``."""

    def __init__(self, tail: WalTail, digests: PageDigests, sequence: int) -> None:
        self._tail = tail
        self._changes = ChangeReader(tail, digests)
        self.digests = digests
        self.sequence = sequence
        """Of the last commit that was recorded."""

    def record(self, date: Callable[[], int]) -> Iterator[LoggedCommit]:
        """Each commit since the last one. Raises ``WalGap`` if commits went by unread, or one is too large."""
        for commit in self._tail.read():
            if len(commit.pages) * self._tail.page_size > MAX_COMMIT_BYTES:
                raise WalGap
            pages = tuple(self._changes.read(commit))
            self._tail.step(commit)
            self.sequence += 1
            yield LoggedCommit(self.sequence, date(), commit.size, self.digests.total, pages)

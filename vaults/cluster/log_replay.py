"""A database file made of a log: of the base and every entry since, or of a file that was made so before.

Each part and each entry is compared with its checksum and with the one before, and the whole database with the digest
that the last entry names. What is missing or damaged is named; an older base, or a log that ends earlier, is never
taken in its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from vaults.cluster.base_images import decode_base
from vaults.cluster.failures import LogDamaged, LogUnavailable
from vaults.cluster.page_frames import LogHead, decode, head_after
from vaults.cluster.vault_log import LogEntry, LogSource
from vaults.db.page_digests import PageDigests
from vaults.db.replayed_file import ReplayedFile
from vaults.errors import NotFound
from vaults.files.permissions import FILE_MODE


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A database as it was put in its place, each page of which was hashed on its way into the file."""

    state: tuple[int, ...]
    digests: PageDigests

    @classmethod
    def of(cls, path: Path, digests: PageDigests) -> WrittenFile:
        """The file as it is now."""
        return cls(_state_of(path), digests)

    def is_untouched(self, path: Path) -> bool:
        """Whether nobody wrote to the file since, as far as its times tell: after that its digests say nothing."""
        return _state_of(path) == self.state


def _state_of(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@dataclass(frozen=True, slots=True)
class RestoredLog:
    """Where the log stands that a local copy was restored from. ``base_bytes``: as it is stored; ``log_bytes``: of the
    entries since. ``written``: the file as it was left a moment ago, for whoever opens it next."""

    head: LogHead
    base_bytes: int
    log_bytes: int
    written: WrittenFile | None = None


@dataclass(frozen=True, slots=True)
class ReplayedCopy:
    """A database that was replayed from a log, and that SQLite never opened. ``digests``: of its pages, as they were
    written."""

    path: Path
    log: RestoredLog
    digests: PageDigests

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.log.head.size * self.log.head.page_size


def build_copy(store: LogSource, vault: str, into: Path, until: int) -> ReplayedCopy | None:
    """The database as it was after entry ``until``, in a new file at ``into``; None for a vault whose log has not
    begun. Blocking. Raises ``LogDamaged``, ``LogUnavailable``, also where the holder exchanged the base meanwhile, and
    ``NotFound`` where the base is newer than ``until``; what it wrote is left."""
    found = store.base(vault)
    if found is None:
        if until:
            raise LogDamaged(vault, until, "it has no base")
        return None
    seq, parts = found
    if seq > until:
        raise NotFound(f"the log of vault {vault} begins after entry {seq}")
    descriptor = os.open(into, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        # Not synced: after a crash whoever opens it compares every page with the log's digest.
        replay = _Replay(store, vault, descriptor)
        return ReplayedCopy(into, replay.run(seq, parts, until), replay.digests)
    finally:
        os.close(descriptor)


def bring_up(store: LogSource, vault: str, copy: ReplayedCopy, until: int) -> ReplayedCopy:
    """Go on with a copy to entry ``until``, or as far as the log can be read: where its answer ended, or a base took
    the place of the next entry. Blocking. Raises ``LogDamaged`` where the copy is not what the log was at its entry, or
    its pages are not those that were written; the file is of no use any more then."""
    descriptor = os.open(copy.path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return replace(copy, log=_Replay(store, vault, descriptor).go_on(copy, until))
    finally:
        os.close(descriptor)


def is_in_log(store: LogSource, vault: str, head: LogHead) -> bool:
    """Whether the log stood there: its base or its entry of that number says so. Blocking. Raises ``LogDamaged``,
    ``LogUnavailable``."""
    base = store.base(vault)
    if base is not None and base[0] == head.seq:
        return decode_base(vault, *base)[0] == head
    entry = next(iter(store.entries(vault, head.seq - 1)), None)
    return entry is not None and head_after(vault, entry) == head


class _Replay:
    def __init__(self, store: LogSource, vault: str, descriptor: int) -> None:
        self._store = store
        self._vault = vault
        self._file = ReplayedFile(descriptor, self._refuse)
        self._seq = 0
        self._read = 0
        """Bytes of what was read last: the base, or the entries."""

    def run(self, seq: int, parts: Iterator[bytes], until: int) -> RestoredLog:
        self._seq = seq
        last, pages = decode_base(self._vault, seq, self._counted(parts))
        self._file.lay_base(last.page_size, pages)
        if self._file.digests.total != last.digest:
            raise self._refuse("its base is not the database it was made of")
        base_bytes, self._read = self._read, 0
        for entry in self._entries(seq, until):
            last = self._apply(entry, last)
        return RestoredLog(self._settled(last), base_bytes, self._read)

    def go_on(self, copy: ReplayedCopy, until: int) -> RestoredLog:
        last = copy.log.head
        self._seq = last.seq
        self._file.go_on(last.page_size, copy.digests)
        with suppress(LogUnavailable):
            for entry in self._entries(last.seq, until):
                last = self._apply(entry, last)
        return RestoredLog(self._settled(last), copy.log.base_bytes, copy.log.log_bytes + self._read)

    @property
    def digests(self) -> PageDigests:
        """Of the pages in the file."""
        return self._file.digests

    def _settled(self, last: LogHead) -> LogHead:
        self._file.settle()
        if self._file.digests.size != last.size:
            raise self._refuse("it does not lead to a database of the size it says")
        return last

    def _entries(self, after: int, until: int) -> Iterator[LogEntry]:
        """Those up to ``until``, and no fewer."""
        reached = after
        if reached == until:
            return
        for entry in self._store.entries(self._vault, after):
            yield entry
            reached = entry.seq
            if reached >= until:
                return
        raise LogDamaged(self._vault, reached + 1, "it is missing")

    def _apply(self, entry: LogEntry, last: LogHead) -> LogHead:
        self._read += len(entry.payload)
        opened = decode(self._vault, entry, last)
        self._seq, head = entry.seq, opened.head
        if head.after < head.before:
            self._file.resize(head.after)
        self._file.apply(head.seq, head.digest, opened.pages)
        return last.after(head, opened.checksum)

    def _counted(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for each in parts:
            self._read += len(each)
            yield each

    def _refuse(self, reason: str) -> LogDamaged:
        return LogDamaged(self._vault, self._seq, reason)

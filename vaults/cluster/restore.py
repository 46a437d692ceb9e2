"""A vault's database from its log: the base, and every entry since.

Nothing is placed before all of it was compared: each part and each entry with its checksum and with the one before, and
the whole database with the digest that the last entry names. What is missing or damaged is named; an older base, or a
log that ends earlier, is never taken in its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from vaults.cluster.base_images import decode_base
from vaults.cluster.failures import LogDamaged
from vaults.cluster.page_frames import LogHead, decode
from vaults.cluster.vault_log import LogEntry, VaultLog
from vaults.db.database_copy import FullSpeed, refuse_damaged
from vaults.db.page_digests import PageDigests
from vaults.db.replayed_file import ReplayedFile
from vaults.errors import NotFound, VaultQuarantined
from vaults.files.permissions import FILE_MODE
from vaults.files.scratch_folders import scratch_folder

PREFIX = ".restoring-"
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A database as ``restore`` left it, each page of which was hashed on its way into the file."""

    state: tuple[int, ...]
    digests: PageDigests

    def is_untouched(self, path: Path) -> bool:
        """Whether nobody wrote to the file since, as far as its times tell: after that its digests say nothing."""
        return _state_of(path) == self.state


@dataclass(frozen=True, slots=True)
class RestoredLog:
    """Where the log stands that a local copy was restored from. ``base_bytes``: as it is stored; ``log_bytes``: of the
    entries since. ``written``: the file as it was left, for whoever opens it next."""

    head: LogHead
    base_bytes: int
    log_bytes: int
    written: WrittenFile | None = None


def restore(
    store: VaultLog, vault: str, into: Path, until: int, inspect: Callable[[Path], None] | None = None
) -> RestoredLog | None:
    """Put the database as it was after entry ``until`` in the place of whatever stands at ``into``, which nobody may
    have open; None, and nothing is touched, for a vault whose log has not begun. Blocking; by the holder, so that
    nobody exchanges the base meanwhile. ``inspect`` is given the file before it is placed: see ``refuse_unsound``.

    Raises ``LogDamaged``, ``LogUnavailable``, and ``NotFound`` where the base is newer than ``until``."""
    found = store.base(vault)
    if found is None:
        if until:
            raise LogDamaged(vault, until, "it has no base")
        return None
    seq, parts = found
    if seq > until:
        raise NotFound(f"the log of vault {vault} begins after entry {seq}")
    with scratch_folder(into.parent, PREFIX) as folder:
        built = folder / into.name
        descriptor = os.open(built, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            # Not synced: after a crash whoever opens it compares every page with the log's digest.
            replay = _Replay(store, vault, descriptor)
            restored = replay.run(seq, parts, until)
        finally:
            os.close(descriptor)
        if inspect is not None:
            try:
                inspect(built)
            except VaultQuarantined as failure:
                raise LogDamaged(vault, until, "SQLite finds its database damaged") from failure
        drop_local(into)
        built.rename(into)
    return replace(restored, written=WrittenFile(_state_of(into), replay.digests))


def refuse_unsound(path: Path) -> None:
    """SQLite's own quick check, for ``restore``: of what was damaged before it was logged."""
    refuse_damaged(path, FullSpeed())


def drop_local(path: Path) -> None:
    """Remove a local copy: the database, then what SQLite keeps beside it. Nobody may have it open."""
    # In this order: SQLite empties a log that is left without its database, and would replay one into another database.
    path.unlink(missing_ok=True)
    for suffix in BESIDE:
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _state_of(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class _Replay:
    def __init__(self, store: VaultLog, vault: str, descriptor: int) -> None:
        self._store = store
        self._vault = vault
        self._file = ReplayedFile(descriptor, self._refuse)
        self._seq = 0
        self._read = 0
        """Bytes of what was read last: the base, or the entries."""

    @property
    def digests(self) -> PageDigests:
        """Of the pages in the file, once it was run."""
        return self._file.digests

    def run(self, seq: int, parts: Iterator[bytes], until: int) -> RestoredLog:
        self._seq = seq
        last, pages = decode_base(self._vault, seq, self._counted(parts))
        self._file.lay_base(last.page_size, pages)
        if self._file.digests.total != last.digest:
            raise self._refuse("its base is not the database it was made of")
        base_bytes, self._read = self._read, 0
        for entry in self._entries(seq, until):
            last = self._apply(entry, last)
        self._file.settle()
        if self._file.digests.size != last.size:
            raise self._refuse("it does not lead to a database of the size it says")
        return RestoredLog(last, base_bytes, self._read)

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

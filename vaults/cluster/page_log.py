"""The log of one vault's pages: each commit is in it before anybody is told of it.

On the writer's thread, after COMMIT: the new frames of SQLite's own log are read, each page is compared with what it
was before, and the difference is appended to the vault's log. Only then the writers are answered. A snapshot that is
held (``WalTail``) keeps SQLite from writing over a frame that was not read, and from moving a page into the file while
the one before it is still wanted: also where SQLite checkpoints by itself inside of COMMIT.

If that fails once, the database here may be ahead of the log for ever: nothing more is committed, ``on_lost`` is told,
and the owner closes the vault and drops the files. What the log holds is the truth, also of a commit whose answer was
lost on the way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from vaults.cluster.base_images import FrozenBase, encode_base
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.log_replay import RestoredLog
from vaults.cluster.page_frames import EntryHead, LogHead, PagePacker, encode, first_checksum
from vaults.cluster.read_gate import ReadGate
from vaults.cluster.vault_log import Placement, VaultLog
from vaults.context import run_in, run_to_completion
from vaults.db.engine import sqlite
from vaults.db.page_changes import ChangeReader
from vaults.db.page_digests import PageDigests, digest_page
from vaults.db.wal_frames import WalCommit
from vaults.db.wal_tail import WalGap, WalTail
from vaults.errors import Overloaded, StrongroomError, VaultQuarantined, VaultUnavailable
from vaults.settings import StorageSettings

RENEW_FRAMES = 1000
"""Frames in SQLite's log from which it is let start over: as many as SQLite itself takes."""

RENEW_FOR_S, RENEW_PAUSE_S = 1.0, 0.02
"""Seconds for which SQLite's log is asked to be empty before a purge, where somebody reads from it."""

MIN_REBASE_BYTES = 1024 * 1024
"""Bytes of entries below which no base is made."""

REBASE_SHARE = 4
"""A new base is due when the entries since the last one are more than one part in so many of it."""


@dataclass(slots=True)
class _Sizes:
    """Bytes of the last base, and of the entries since it."""

    base: int
    appended: int
    at_base: int = 0
    at_purge: int = 0
    """What had been appended when SQLite's log was last emptied."""

    @property
    def log(self) -> int:
        return self.appended - self.at_base


@dataclass(frozen=True, slots=True)
class HeldVault:
    """A vault as a server took it: its placement, where its log is kept, and for how long it may be believed to be this
    server's."""

    placement: Placement
    store: VaultLog
    lease: HeldLease


def _read_digests(tail: WalTail) -> PageDigests:
    digests = PageDigests(tail.page_size)
    for number in range(1, tail.size + 1):
        digests.set(number, digest_page(number, tail.page(number) or bytes(tail.page_size)))
    return digests


class PageLog:
    """A ``CommitLog``. ``start`` is what ``restore`` gave for the placement of ``held``; None: the log begins with what
    is there. ``on_lost`` is called once, from whatever thread notices, and must not wait."""

    def __init__(
        self,
        path: Path,
        settings: StorageSettings,
        held: HeldVault,
        start: RestoredLog | None,
        on_lost: Callable[[StrongroomError], None],
    ) -> None:
        placement = held.placement
        if (start.head.seq if start else 0) != placement.head:
            raise ValueError(f"what was restored is not entry {placement.head}")
        self._path = path
        self._settings = settings
        self._store = held.store
        self._lease = held.lease
        self._gate = ReadGate(held.lease)
        self._group: int | None = None
        """The number at the gate of the writes that are being committed."""
        self._on_lost = on_lost
        self.placement = placement
        self.head = start.head if start else None
        """None: the log has not begun."""
        self._sizes = _Sizes(start.base_bytes, start.log_bytes) if start else _Sizes(0, 0)
        if placement.purged:
            self._sizes.at_purge = self._sizes.appended
        self._written = start.written if start else None
        self._tail: WalTail | None = None
        self._changes: ChangeReader | None = None
        self._packer = PagePacker()
        self._renew_at = RENEW_FRAMES
        self._lost = threading.Lock()
        self.failure: StrongroomError | None = None
        """Why nothing is logged any more."""

    @property
    def is_rebase_due(self) -> bool:
        """Whether so much was appended that restoring takes needlessly long, or what was purged is still in entries."""
        sizes = self._sizes
        return sizes.log > max(MIN_REBASE_BYTES, sizes.base // REBASE_SHARE) or sizes.at_purge > sizes.at_base

    @property
    def closed(self) -> tuple[Placement, RestoredLog] | None:
        """From where the same server goes on with the files that are there, once this is closed; None where the log
        was lost, or the files were never compared."""
        if self.failure is not None or self.head is None or not self.has_begun:
            return None
        sizes = self._sizes
        purged = self.placement.purged if sizes.at_purge > sizes.at_base else 0
        return replace(self.placement, purged=purged), RestoredLog(self.head, sizes.base, sizes.log)

    @property
    def has_begun(self) -> bool:
        """Whether the files were compared with the log."""
        return self._changes is not None

    def after_open(self, raw: sqlite.Connection) -> None:
        """Raises ``VaultUnavailable`` if the database is not what the log ends with."""
        with self._losing():
            if self._tail is None:
                self._begin(raw)

    def _begin(self, raw: sqlite.Connection) -> None:
        self._tail = tail = WalTail(self._path, self._settings)
        tail.hold(raw)
        tail.start_from(None)
        tail.skip_to_end()
        written, self._written = self._written, None
        is_known = written is not None and tail.position is None and written.is_untouched(self._path)
        digests = written.digests if written is not None and is_known else _read_digests(tail)
        self._changes = ChangeReader(tail, digests)
        if self.head is None:
            checksum = first_checksum(self.placement.vault, digests.total)
            self.head = LogHead(0, self.placement.epoch, checksum, digests.total, digests.size, tail.page_size)
            self.store_base(self._freeze())
        elif digests.total != self.head.digest:
            # A commit that never got into the log, or a file that a crash of the machine left half written.
            raise VaultUnavailable("the local copy is not what the vault's log ends with", hint="call again")

    def before_commit(self) -> None:
        """Keeps reads that may see it from being answered. Raises what the log was lost by."""
        self._group = self._gate.begin()

    def before_answer(self) -> None:
        """Waits until what the read saw is in the log. Raises ``Fenced``, ``LogUnavailable``, ``VaultUnavailable``."""
        self._gate.wait_answerable()

    def refuse_if_lost(self) -> None:
        """Raises ``Fenced``, ``LogUnavailable``, ``VaultUnavailable``."""
        self._gate.refuse_if_lost()

    def after_failed_commit(self, raw: sqlite.Connection) -> None:
        """Appends what was committed nevertheless."""
        self.after_commit(raw)

    def after_commit(self, raw: sqlite.Connection) -> None:
        """Appends what was committed. Raises ``Fenced``, ``LogUnavailable``, ``TooLarge``, ``VaultUnavailable``; then,
        and ever after, nothing more is committed here. Where nothing was to be appended, as ``before_answer``."""
        head = self.head
        self._log_commits(raw)
        if self._group is not None:
            self._gate.end(self._group)
            self._group = None
        if self.head is head:
            self._lease.require_held()  # no append has proved it

    def _log_commits(self, raw: sqlite.Connection) -> None:
        with self._losing():
            self._append_commits()
            tail = self._require_tail()
            if tail.frames >= self._renew_at and not tail.may_restart and not raw.in_transaction:
                self._renew(raw)

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        with self._losing():
            self._append_commits()
            self.placement = self._store.note_purge(self.placement)
            self._sizes.at_purge = self._sizes.appended
            tail, until = self._require_tail(), time.monotonic() + RENEW_FOR_S
            self._renew(raw)
            while not tail.may_restart and time.monotonic() < until:  # somebody reads from it
                time.sleep(RENEW_PAUSE_S)
                self._renew(raw)

    def _renew(self, raw: sqlite.Connection) -> None:
        """Let SQLite's log start over, with everything in it appended."""
        tail = self._require_tail()
        with suppress(Overloaded), tail.renewing(raw):
            self._append_commits()
        # Where a long read is under way it cannot: not tried again with each commit.
        self._renew_at = RENEW_FRAMES if tail.may_restart else tail.frames + RENEW_FRAMES

    def _append_commits(self) -> None:
        for commit in self._require_tail().read():
            self._append(commit)

    def _append(self, commit: WalCommit) -> None:
        tail, changes, last, placement = (
            self._require_tail(),
            self._require_changes(),
            self._require_head(),
            self.placement,
        )
        if commit.end.header.page_size != last.page_size:
            raise WalGap
        pages, count = self._packer.pack(changes.read(commit))
        tail.step(commit)
        head = EntryHead(
            last.seq + 1,
            placement.epoch,
            last.page_size,
            last.size,
            commit.size,
            count,
            changes.digests.total,
            last.checksum,
        )
        payload, checksum = encode(placement.vault, head, pages)
        self.placement = self._store.append(placement, payload)
        self.head = last.after(head, checksum)
        self._sizes.appended += len(payload)

    def freeze(self, _raw: sqlite.Connection) -> FrozenBase:
        """The database as it is now, for ``store_base``; the caller closes it. On the writer's thread."""
        with self._losing():
            self._append_commits()
            return self._freeze()

    def _freeze(self) -> FrozenBase:
        pages, held = self._require_tail().freeze_apart()
        digests = self._require_changes().digests.copy()
        return FrozenBase(self.placement, self._require_head(), pages, digests, self._sizes.appended, held)

    def store_base(self, source: FrozenBase) -> None:
        """Replace the base by ``source``, and close that. Blocking, beside the writer. Raises ``Fenced``, after which
        nothing more is committed here, and ``LogUnavailable`` and ``StorageFull``, after which the old base stands or
        the new one does."""
        size = 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for part in encode_base(source):
                size += len(part)
                yield part

        try:
            self._store.replace_base(source.placement, source.head.seq, counted())
        except Fenced as failure:
            self._lose(failure)
            raise
        except StrongroomError:
            raise  # away, or full: the base that is there stands
        except BaseException as failure:
            raise self._lose(failure) from failure
        finally:
            source.close()
        self._sizes.base, self._sizes.at_base = size, source.appended

    async def close(self) -> None:
        tail, self._tail = self._tail, None
        if tail is not None:
            with ThreadPoolExecutor(1, thread_name_prefix="page-log") as thread:
                await run_to_completion(run_in(thread, tail.close))

    @contextmanager
    def _losing(self) -> Iterator[None]:
        """Whatever goes wrong inside is the end of the local copy."""
        if self.failure is not None:
            raise VaultUnavailable("the vault's log failed: it is opened anew from there", hint="call again")
        try:
            yield
        except VaultQuarantined as failure:  # the copy is damaged: what the log holds is restored
            raise self._lose(VaultUnavailable("the local copy is damaged", hint="call again")) from failure
        except StrongroomError as failure:
            self._lose(failure)
            raise
        except BaseException as failure:
            raise self._lose(failure) from failure

    def _lose(self, failure: BaseException) -> StrongroomError:
        lost = (
            failure
            if isinstance(failure, StrongroomError)
            else VaultUnavailable("what was committed could not be logged", hint="call again")
        )
        with self._lost:
            is_first, self.failure = self.failure is None, self.failure or lost
        if is_first:
            self._gate.break_by(lost if isinstance(lost, Fenced) else LogUnavailable(lost.message))
            self._on_lost(lost)
        return lost

    def _require_tail(self) -> WalTail:
        assert self._tail is not None, "after_open comes first"
        return self._tail

    def _require_changes(self) -> ChangeReader:
        assert self._changes is not None, "after_open comes first"
        return self._changes

    def _require_head(self) -> LogHead:
        assert self.head is not None, "after_open comes first"
        return self.head

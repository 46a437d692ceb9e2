"""Follows a database on threads: holds SQLite's log, records what is committed, and cuts it into segments.

Two threads come here, the log's own and the database's writer, which waits while the other records. It waits for
nothing that leaves this machine.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ops.change_log.recorder import Recorder
from ops.change_log.segments import Segment, SegmentDraft
from vaults.db.engine import sqlite
from vaults.db.page_digests import PageDigests, digest_page
from vaults.db.wal_frames import WalPosition
from vaults.db.wal_tail import FrozenPages, WalGap, WalTail
from vaults.settings import StorageSettings

SEGMENT_BYTES = 4 * 1024 * 1024
"""Packed bytes after which a segment is cut, if more waits."""

MAX_DRAFT_BYTES = 16 * 1024 * 1024
"""Packed bytes held in memory while SQLite's log has to be let go, as before a purge."""

RENEW_FRAMES = 1000
"""Frames in SQLite's log from which it is let start over: as many as SQLite itself takes."""

ROUNDS = 5
"""Times what was recorded is moved into the file while others write, each time less, before the writer must wait."""

MAX_DATES = 4096
"""Commits that are dated before they are read: more wait only for a store that is away."""


@dataclass(frozen=True, slots=True)
class LineEnd:
    """The end of a line in the store: where the next segment goes on."""

    line: str
    number: int
    previous: str
    sequence: int
    digest: str
    position: WalPosition | None


class Follower:
    """One for each time a database is followed. ``hold``, ``begin``, then the rest; ``close`` at the end."""

    def __init__(self, path: Path, settings: StorageSettings, seal: Callable[[bytes], bytes]) -> None:
        self._tail = WalTail(path, settings)
        self._seal = seal
        self._lock = threading.Lock()
        self._dates: deque[int] = deque(maxlen=MAX_DATES)
        self._recorder: Recorder | None = None
        self._end: LineEnd | None = None
        self._draft = SegmentDraft()
        self._cut: Segment | None = None
        self.is_lost = False
        """Whether commits went by unread: only a new line helps."""

    def hold(self, raw: sqlite.Connection) -> None:
        """Keep SQLite's log from being started over. On the writer's thread."""
        self._tail.hold(raw)

    def begin(self, end: LineEnd | None) -> bool:
        """Read every page; whether the line that ends with ``end`` goes on with what was committed since. If not,
        ``start_line`` must follow, and whatever is in SQLite's log by now belongs to the base."""
        self._tail.start_from(end.position if end is not None else None)
        digests = self._digest_all()
        if end is not None and digests.total.hex() == end.digest:
            self._end, self._recorder = end, Recorder(self._tail, digests, end.sequence)
            return True
        skipped = self._tail.skip_to_end()
        digests.resize(self._tail.size)
        for number in skipped:
            if number <= self._tail.size:
                digests.set(number, digest_page(number, self._known_page(number)))
        self._recorder = Recorder(self._tail, digests, 0)
        return False

    def start_line(self, end: LineEnd) -> LineEnd:
        """Begin a line whose first base is the state that was read; ``end`` says all but that."""
        recorder = self._require_recorder()
        recorder.sequence = end.sequence
        self._end = LineEnd(
            end.line, end.number, end.previous, end.sequence, recorder.digests.total.hex(), self._tail.position
        )
        return self._end

    def _digest_all(self) -> PageDigests:
        digests = PageDigests(self._tail.page_size)
        for number in range(1, self._tail.size + 1):
            digests.set(number, digest_page(number, self._known_page(number)))
        return digests

    def _known_page(self, number: int) -> bytes:
        return self._tail.page(number) or bytes(self._tail.page_size)

    def note_commit(self) -> None:
        """A commit was made here, now."""
        self._dates.append(_now())

    def record(self) -> bool:
        """Record what was committed, up to a segment's worth; whether that was all. Raises ``WalGap``."""
        with self._lock:
            return self._record(SEGMENT_BYTES)

    def _record(self, limit: int) -> bool:
        """Whether that was all."""
        if self.is_lost:
            raise WalGap
        if self._draft.size > limit:
            return False
        began = _now()
        try:
            for record in self._require_recorder().record(self._date):
                self._draft.add(record)
                if self._draft.size > limit:
                    return False
        except BaseException:
            self.is_lost = True
            raise
        while self._dates and self._dates[0] < began:  # of transactions that left nothing in SQLite's log
            self._dates.popleft()
        return True

    def _date(self) -> int:
        """When the next commit was made, if it was made here: commits of other processes are dated when they are read,
        and then those made here up to a second late."""
        return self._dates.popleft() if self._dates else _now()

    def refresh(self) -> None:
        """Hold no more of SQLite's log than was not recorded."""
        with self._lock:
            if not self.is_lost and self._record(SEGMENT_BYTES):
                self._tail.refresh()

    def advance(self) -> bool:
        """Let SQLite's log start over without the writer; whether it may now. Where commits keep coming meanwhile, what
        is left for ``renew`` is little, and all before it on the disk."""
        is_synced = False
        for _ in range(ROUNDS):
            with self._lock:
                if self.is_lost or not self._record(SEGMENT_BYTES):
                    break
                self._tail.refresh()
                if is_synced or self._tail.may_restart:
                    break
                is_synced = self._tail.move()
        return self.may_restart

    def renew(self, raw: sqlite.Connection) -> None:
        """Let SQLite's log start over, with everything recorded. On the writer's thread. Lets it go for good where more
        waits than may be held in memory: the writer never waits for a store. Raises ``Overloaded`` if another process
        keeps the write lock, and then nothing has changed."""
        with self._lock:
            if self.is_lost:
                return
            try:
                with self._tail.renewing(raw):
                    if self._end is None or not self._record(MAX_DRAFT_BYTES):
                        raise WalGap
            except WalGap:
                self._let_go()

    def let_go(self) -> None:
        """Hold SQLite's log no longer."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        self.is_lost = True
        self._tail.close()

    def next_segment(self) -> Segment | None:
        """The segment to store next: the same one until ``confirm``."""
        with self._lock:
            if self._cut is None and not self._draft.is_empty and not self.is_lost:
                end = self._require_end()
                draft, self._draft = self._draft, SegmentDraft()
                self._cut = draft.finish(
                    end.line, end.number, end.previous, self._tail.page_size, self._tail.position, self._seal
                )
            return self._cut

    def confirm(self, segment: Segment) -> LineEnd:
        """``segment`` is stored."""
        with self._lock:
            end, head = self._require_end(), segment.head
            self._end = LineEnd(end.line, head.number + 1, segment.hash, head.last, head.digest, None)
            self._cut = None
            return self._end

    def freeze(self) -> tuple[BaseSource, WalPosition | None]:
        """The state as it was recorded last, to be read while recording goes on, and its place in SQLite's log."""
        with self._lock:
            recorder = self._require_recorder()
            self._record(SEGMENT_BYTES)  # what came since may be moved into the file, and then is not to be missed
            source = BaseSource(self._tail.freeze(), recorder.digests.copy(), recorder.sequence, _now())
            return source, self._tail.position

    @property
    def may_restart(self) -> bool:
        """Whether SQLite's log may be started over, or is not held at all."""
        return self.is_lost or self._tail.may_restart

    @property
    def wants_renewal(self) -> bool:
        """Whether SQLite's log is long enough to be let start over."""
        return self._tail.frames >= RENEW_FRAMES and not self.may_restart

    @property
    def log_bytes(self) -> int:
        """Bytes of SQLite's log that were recorded."""
        return self._tail.frames * self._tail.page_size

    @property
    def database_bytes(self) -> int:
        """Bytes of the database as it was recorded last."""
        return self._tail.size * self._tail.page_size

    def waiting_bytes(self) -> int:
        """Bytes that were committed and not recorded."""
        with self._lock:
            return 0 if self.is_lost else self._tail.waiting() * self._tail.page_size

    def _require_recorder(self) -> Recorder:
        assert self._recorder is not None, "begin comes first"
        return self._recorder

    def _require_end(self) -> LineEnd:
        assert self._end is not None, "a line comes first"
        return self._end


def _now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class BaseSource:
    """The whole database at one commit. Each page is compared with its digest: if SQLite's log was let go meanwhile, no
    page of another commit slips in."""

    pages: FrozenPages
    digests: PageDigests
    sequence: int
    time: int

    def read(self, pages_at_once: int) -> Iterator[bytes]:
        """The pages in order, so many at a time. Raises ``WalGap``."""
        for first in range(1, self.digests.size + 1, pages_at_once):
            last = min(first + pages_at_once - 1, self.digests.size)
            yield b"".join(self._page(number) for number in range(first, last + 1))

    def _page(self, number: int) -> bytes:
        data = self.pages.page(number)
        for each in (data, bytes(self.pages.page_size)):
            if each is not None and digest_page(number, each) == self.digests.of(number):
                return each
        raise WalGap

"""Following the write-ahead log of a database that is in use: each transaction once, in order, none left out.

SQLite starts its log over once everything in it was moved into the database's file and no reader needs it. A snapshot
that is held here keeps it from doing so:

- begun while part of the log was not moved yet, the snapshot needs it, and the log only grows;
- begun when all was moved, it reads the file alone. The log may be started over once, and then nothing can be moved
  into the file, so not twice.

Either way nothing is lost that was not in the log when the snapshot began, and ``renew`` begins another one only while
the write lock is held and everything was read. Other processes keep to the same locks, so this needs nothing of them.
If the log is ever found to have been started over otherwise, ``WalGap`` is raised, never a wrong page.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vaults.db.connection import open_raw, open_snapshot_holder
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.db.open_file import OpenFile
from vaults.db.wal_frames import (
    HEADER_BYTES,
    ReadAt,
    WalCommit,
    WalHeader,
    WalPosition,
    parse_header,
    read_commits,
    read_page,
    read_pages,
    start_of,
)
from vaults.settings import StorageSettings

LOOKS = 3
"""Times the log is looked at before a state that changes between two looks is taken for a gap."""


CUT_OFF = -1
"""In place of a frame: the database became shorter, and what the file still holds there is not its page."""

_BEGIN_READING = "PRAGMA schema_version"
"""Begins a snapshot, as any first read does. Reads one number of the file's head, and not the schema."""


class WalGap(Exception):
    """Transactions may have gone by unread: whoever follows must begin anew with the whole database."""


class WalTail:
    """Blocking; one thread at a time. ``hold`` before anything else."""

    def __init__(self, path: Path, settings: StorageSettings) -> None:
        self._path, self._settings = path, settings
        self._wal = path.with_name(f"{path.name}-wal")
        self._file = OpenFile(path)
        self._held = open_snapshot_holder(path, settings)
        self._next: sqlite.Connection | None = None
        """Begins the next snapshot before the one that is held ends; opened when that is first done."""
        self._probe = open_raw(path, settings, writer=False)
        self._held.execute(_BEGIN_READING).fetchone()  # without having read, it tells the usual size
        self.page_size = int(self._held.execute("PRAGMA page_size").fetchone()[0])
        self.position: WalPosition | None = None
        """None: the log is empty."""
        self.size = 0
        """Pages of the database at the position."""
        self.may_restart = False
        """Whether all of the log is in the file, and nobody here keeps it from being started over."""
        self._descriptor: int | None = None
        self._header: tuple[bytes, WalHeader | None] = b"", None
        """The head of the log as it was read last."""
        self._pages = FrozenPages(self._read_log, self._file, self.page_size, {})
        self._ahead: list[WalCommit] = []
        self._moved = 0

    def hold(self, raw: sqlite.Connection) -> None:
        """Keep the log from being started over; ``raw`` keeps others from committing meanwhile. The position is the
        start of the log until ``start_from`` was called."""
        with translate_sqlite_errors(), _write_lock(raw):
            self._begin_snapshot(self._held)
            frames, self._moved = self._look()
            header = self._read_header() if frames else None
            self._ahead = list(read_commits(self._read_log, start_of(header), frames)) if header else []
            if frames and (not self._ahead or self._ahead[-1].end.frames != frames):
                raise WalGap
            self.may_restart = frames == self._moved
            self.position = start_of(header) if header else None
            self.size = self._file.size() // self.page_size

    def start_from(self, known: WalPosition | None) -> None:
        """Go to ``known`` if the log holds it; else stay at the start, where the file is the state, unless some of the
        log was moved into it: then go to the end. What is in the file decides whether that state can be read."""
        if self.may_restart:
            self.skip_to_end()
            self._pages.frames.clear()  # the file is the state, and the log may be written over
        elif known is not None and (known == self.position or any(each.end == known for each in self._ahead)):
            self._skip_to(known)
        elif self._moved:
            self.skip_to_end()

    def skip_to_end(self) -> list[int]:
        """Pass over what was in the log when it was first looked at; returns the pages that were written there."""
        skipped = [page for each in self._ahead for page in each.pages]
        if self._ahead:
            self._skip_to(self._ahead[-1].end)
        return skipped

    def _skip_to(self, end: WalPosition) -> None:
        while self._ahead and self._ahead[0].end.frames <= end.frames:
            self.step(self._ahead.pop(0))

    def read(self) -> Iterator[WalCommit]:
        """What was committed since the position. Call ``step`` for each before the next is taken: until then ``page``
        is as it was before. Raises ``WalGap``."""
        while self._ahead:
            yield self._ahead.pop(0)
        for _ in range(LOOKS):
            start, frames = self._find_start()
            if start is None or frames <= start.frames:
                return
            yield from read_commits(self._read_log, start, frames)
            if self.frames >= frames:
                return
        raise WalGap

    def _find_start(self) -> tuple[WalPosition | None, int]:
        """Where to go on, and how many frames are committed; None: the log was started over and holds nothing yet."""
        for _ in range(LOOKS):
            # The number before the head: where there are frames of a log that was started over, its head is written.
            with translate_sqlite_errors():
                frames, _moved = self._look()
            if not frames:
                break
            header = self._read_header()
            if header is None:
                continue  # emptied since
            if self.position is not None and header.salts == self.position.header.salts:
                self.may_restart = self.may_restart and frames == self.position.frames
                return self.position, frames
            if not self.may_restart:
                raise WalGap
            self._follow_into(header)
        if self.may_restart:
            self._pages.frames.clear()  # the file is the state
            return None, 0
        raise WalGap

    def _read_header(self) -> WalHeader | None:
        data = self._read_log(0, HEADER_BYTES)
        if data != self._header[0]:
            self._header = data, parse_header(data)
        return self._header[1]

    def _read_log(self, offset: int, size: int) -> bytes:
        # Opened once: while connections are held here, SQLite does not remove it.
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return b""
        return os.pread(self._descriptor, size, offset)

    def _follow_into(self, header: WalHeader) -> None:
        """The log was started over, with everything in the file."""
        self.position, self.may_restart = start_of(header), False
        self._pages.frames.clear()

    def step(self, commit: WalCommit) -> None:
        """Make the state after ``commit`` the one that is read."""
        self._pages.frames.update(commit.pages)
        for page in range(commit.size + 1, self.size + 1):
            self._pages.frames[page] = CUT_OFF
        self.position, self.size = commit.end, commit.size

    def page(self, number: int) -> bytes | None:
        """A page as it is at the position, as far as can be told; None where it is not known. The caller compares it
        with what it knows of it: another process may have moved a later one into the file."""
        return self._pages.page(number)

    def freeze(self) -> FrozenPages:
        """The pages as they are at the position, for as long as the log is not let go."""
        return FrozenPages(partial(_read_once, self._wal), self._file, self.page_size, dict(self._pages.frames))

    def freeze_apart(self) -> tuple[FrozenPages, sqlite.Connection]:
        """``freeze``, for as long as the connection is open that comes with it, whatever becomes of the log. Everything
        was read, and nobody commits meanwhile."""
        with translate_sqlite_errors():
            raw = open_snapshot_holder(self._path, self._settings)
            try:
                self._begin_snapshot(raw)
                # Once all was moved, a snapshot keeps the file as it is but lets the log be started over.
                frames = {} if self._is_moved() else dict(self._pages.frames)
            except BaseException:
                raw.close()
                raise
        return FrozenPages(partial(_read_once, self._wal), self._file, self.page_size, frames), raw

    def pages_of(self, commit: WalCommit) -> Iterator[tuple[int, bytes]]:
        """The pages a transaction wrote, in order. Raises ``WalGap`` if they are not there any more."""
        numbers = [number for number in sorted(commit.pages) if number <= commit.size]
        frames = [commit.pages[number] for number in numbers]
        for number, data in zip(numbers, read_pages(self._read_log, self.page_size, frames), strict=True):
            if len(data) != self.page_size:
                raise WalGap
            yield number, data

    def waiting(self) -> int:
        """Frames that were committed and not read."""
        with translate_sqlite_errors():
            frames, _ = self._look()
        known = self.position.frames if self.position is not None else 0
        return frames - known if frames >= known else frames

    @property
    def frames(self) -> int:
        """Frames in the log up to the position."""
        return self.position.frames if self.position is not None else 0

    def refresh(self) -> None:
        """Hold no more of the log than was not read, while others go on writing. All that was committed must have been
        read a moment ago. The next snapshot is begun before this one ends, so the log is held all the time."""
        with translate_sqlite_errors():
            # Looked at while the old snapshot still keeps the log: once before, in case that one reads the file alone.
            # If the log was started over since it was read, as it might be, that is still to be followed.
            self.may_restart = self.may_restart or self._is_moved()
            following = self._next or open_snapshot_holder(self._path, self._settings)
            self._next = following
            self._begin_snapshot(following)
            self.may_restart = self.may_restart or self._is_moved()
            if self.may_restart:
                self._pages.frames.clear()  # the file is the state, and the log may be written over from now on
            self._held.execute("ROLLBACK")
            self._held, self._next = following, self._held

    def move(self) -> bool:
        """Move what is not held into the file, as far as nobody else reads it, while others go on writing. Whether that
        was all: then the file is on the disk, too, and little is left for ``renewing``."""
        with translate_sqlite_errors():
            _, frames, moved = self._probe.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            return bool(frames == moved)

    def _is_moved(self) -> bool:
        frames, moved = self._look()
        return frames == moved

    @contextlib.contextmanager
    def renewing(self, raw: sqlite.Connection) -> Iterator[None]:
        """Let the log be started over. In the block nobody commits: the caller reads all there is. Then what is in the
        log is moved into the file, as far as nobody else reads it, and another snapshot is begun. Raises ``Overloaded``
        if others keep the write lock, and then changes nothing."""
        with translate_sqlite_errors(), _write_lock(raw):
            yield
            try:
                self._held.execute("ROLLBACK")
                self._probe.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._begin_snapshot(self._held)
                self.may_restart = self._is_moved()
            except sqlite.Error as failure:
                raise WalGap from failure
            if self.may_restart:
                self._pages.frames.clear()  # the file is the state, and stays it: the log may be cut off at once

    def close(self) -> None:
        """Hold the log no longer."""
        for each in (self._held, self._next, self._probe):
            if each is not None:
                with contextlib.suppress(sqlite.Error):
                    each.close()
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _begin_snapshot(self, raw: sqlite.Connection) -> None:
        raw.execute("BEGIN")
        raw.execute(_BEGIN_READING).fetchall()

    def _look(self) -> tuple[int, int]:
        """Frames that are committed, and how many of them were moved into the file."""
        _, frames, moved = self._probe.execute("PRAGMA wal_checkpoint(NOOP)").fetchone()
        return max(0, int(frames)), max(0, int(moved))


@dataclass(frozen=True, slots=True)
class FrozenPages:
    """The pages of one state: those in ``frames`` from the log, the others from the file."""

    read_log: ReadAt
    file: OpenFile
    page_size: int
    frames: dict[int, int]

    def page(self, number: int) -> bytes | None:
        """A page; None where it is not known."""
        frame = self.frames.get(number)
        if frame == CUT_OFF:
            return None
        if frame is None:
            data = self.file.read((number - 1) * self.page_size, self.page_size)
        else:
            data = read_page(self.read_log, self.page_size, frame)
        return data if len(data) == self.page_size else None


def _read_once(path: Path, offset: int, size: int) -> bytes:
    # SQLite keeps no locks on this file: opening and closing it beside SQLite drops none.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(descriptor, size, offset)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _write_lock(raw: sqlite.Connection) -> Iterator[None]:
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if raw.in_transaction:
            raw.execute("ROLLBACK")

"""A copy of a database for whoever reads all of it: made in short steps beside its users, who wait for none of them.

Reading a gigabyte in one snapshot would keep a connection busy and the log from being emptied, and comparing a
full-text index with its rows takes the write lock. On a copy neither disturbs anybody.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from vaults.context import run_in, run_to_completion
from vaults.db.connection import open_raw
from vaults.db.database_copy import CACHE_BYTES, open_snapshot, size_of
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader
from vaults.errors import Cancelled
from vaults.files.disk_sync import WriteBehind
from vaults.files.permissions import FILE_MODE
from vaults.files.scratch_folders import scratch_folder
from vaults.settings import StorageSettings

T = TypeVar("T")

PREFIX = ".looking-"

ROOM = 2.0
"""Times the size of the database that must be free for a copy of it."""

_REST, _LONGEST_S = 0.5, 0.05
"""Share of the time of a step to rest after it, and seconds at most."""


def read_apart(path: Path, settings: StorageSettings, work: Callable[[Reader], T]) -> T:
    """Run ``work`` in one read snapshot of a connection of its own: none of those that calls share is busy meanwhile.
    Blocking."""
    with translate_sqlite_errors(), closing(open_raw(path, settings, writer=False)) as raw:
        raw.execute("BEGIN")
        return work(Reader(raw))


@contextmanager
def private_copy(
    path: Path, settings: StorageSettings, is_stopped: Callable[[], bool] = lambda: False
) -> Iterator[Path | None]:
    """A copy of the database as of now, gone afterwards; None where its folder has no room for one or cannot be
    written. Blocking, on a thread of its own; ``is_stopped`` ends it early with ``Cancelled``. Raises what opening the
    database raises."""
    if not os.access(path.parent, os.W_OK | os.X_OK) or shutil.disk_usage(path.parent).free < ROOM * size_of(path):
        yield None
        return
    with scratch_folder(path.parent, PREFIX) as folder:
        copy = folder / path.name
        with open_snapshot(path, settings) as snapshot, _created(copy) as behind:
            snapshot.take()
            snapshot.copy_to(copy, _Resting(is_stopped, behind))
        yield copy


@contextmanager
def _created(path: Path) -> Iterator[WriteBehind]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        yield WriteBehind(descriptor, late=2 * CACHE_BYTES)
    finally:
        os.close(descriptor)  # drops SQLite's locks on it, too: by now nobody has it open


@asynccontextmanager
async def copied_apart(path: Path, settings: StorageSettings) -> AsyncIterator[Path | None]:
    """``private_copy`` for the event loop: whoever is cancelled waits for nothing."""
    thread, stopped, held = ThreadPoolExecutor(1, thread_name_prefix="copy"), threading.Event(), ExitStack()
    try:
        yield await run_in(thread, held.enter_context, private_copy(path, settings, stopped.is_set))
    finally:
        stopped.set()
        await run_to_completion(run_in(thread, held.close))  # comes after what the thread is doing
        thread.shutdown(wait=False)


@dataclass(slots=True)
class _Resting:
    """Rests after each step, for as long as others may have waited, and has what was copied go to the disk: a gigabyte
    at once, whenever the system likes, would have the next commit wait for all of it."""

    is_stopped: Callable[[], bool]
    behind: WriteBehind
    _last: float = field(default_factory=time.perf_counter)

    def spend(self, count: int) -> None:
        self.check()
        self.behind.note(count)
        time.sleep(min((time.perf_counter() - self._last) * _REST, _LONGEST_S))
        self._last = time.perf_counter()

    def check(self) -> None:
        if self.is_stopped():
            raise Cancelled("the copy is not wanted any more")

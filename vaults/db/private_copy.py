"""A copy of a database for whoever reads all of it: made in short steps beside its users, who wait for none of them.

Reading a gigabyte in one snapshot would keep a connection busy and the log from being emptied, and comparing a
full-text index with its rows takes the write lock. On a copy neither disturbs anybody.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from uuid_utils import uuid7

from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader
from vaults.files.permissions import make_private_folder
from vaults.settings import StorageSettings

T = TypeVar("T")

PREFIX = ".looking-"
STEP_PAGES = 256
"""Pages copied at a time: a megabyte, about a millisecond."""

ROOM = 2.0
"""Times the size of the database that must be free for a copy of it."""

_REST = 0.5
"""Share of the time of a step to rest after it."""


def read_apart(path: Path, settings: StorageSettings, work: Callable[[Reader], T]) -> T:
    """Run ``work`` in one read snapshot of a connection of its own: none of those that calls share is busy meanwhile.
    Blocking."""
    with translate_sqlite_errors(), closing(open_raw(path, settings, writer=False)) as raw:
        raw.execute("BEGIN")
        return work(Reader(raw))


@contextmanager
def private_copy(path: Path, settings: StorageSettings) -> Iterator[Path | None]:
    """A copy of the database as of now, gone afterwards; None where its folder has no room for one or cannot be
    written. Blocking, on a thread of its own. Raises what opening the database raises."""
    sweep_copies(path.parent)
    if not os.access(path.parent, os.W_OK | os.X_OK) or shutil.disk_usage(path.parent).free < ROOM * _size(path):
        yield None
        return
    folder = path.parent / f"{PREFIX}{uuid7()}"
    make_private_folder(folder)
    try:
        _copy(path, folder / path.name, settings)
        yield folder / path.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_copies(folder: Path) -> None:
    """Remove copies that killed processes left."""
    for left in folder.glob(f"{PREFIX}*"):
        age = time.time() - left.stat().st_mtime
        if age > _ABANDONED_S:
            shutil.rmtree(left, ignore_errors=True)


_ABANDONED_S = 3600.0
"""Seconds after which nobody works on a copy any more."""


def _size(path: Path) -> int:
    log = path.with_name(path.name + "-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _copy(path: Path, target: Path, settings: StorageSettings) -> None:
    with (
        translate_sqlite_errors(),
        closing(open_raw(path, settings, writer=False)) as source,
        closing(sqlite.connect(target, isolation_level=None)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")
        source.execute("BEGIN")
        source.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()  # one moment: no step begins anew
        last = time.perf_counter()

        def rest(*_: int) -> None:
            nonlocal last
            time.sleep(min((time.perf_counter() - last) * _REST, 0.05))
            last = time.perf_counter()

        source.backup(copy, pages=STEP_PAGES, progress=rest, sleep=0)

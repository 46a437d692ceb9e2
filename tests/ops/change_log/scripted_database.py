"""A database that scripts are run on, with every page of it after each commit, read by SQLite itself.

Covers nothing by itself: used by the tests of the change log.
"""

from __future__ import annotations

import random
from pathlib import Path

from tests.vaults.db.raw_steps import RawSteps
from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
from vaults.settings import StorageSettings

SETTINGS = StorageSettings(busy_timeout_ms=50)


class ScriptedDatabase:
    """Two connections that write, and one that reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writers = [open_raw(path, SETTINGS, writer=True) for _ in range(2)]
        for each in self.writers:
            each.execute("PRAGMA cache_size=5")  # transactions spill into the log before they commit
        self.writers[0].execute("CREATE TABLE t (n INTEGER PRIMARY KEY, w BLOB)")
        self.writers[0].execute("CREATE INDEX t_w ON t (w)")
        self._steps = RawSteps()

    def run(self, verb: str, seed: int) -> None:
        """One step. Steps that would have to wait for the other connection do nothing."""
        chance = random.Random(seed)
        self._steps.run(verb, self.writers[chance.randrange(2)], chance)

    def image(self, scratch: Path) -> bytes:
        """Every page as SQLite reads it now."""
        with_log = scratch / "image.db"
        with_log.unlink(missing_ok=True)
        copy = sqlite.connect(with_log)
        self.writers[0].backup(copy)
        copy.close()
        return with_log.read_bytes()

    def close(self) -> None:
        for each in self.writers:
            each.close()


def alike(one: bytes, other: bytes) -> bool:
    """Whether two images are one database. SQLite's own copy counts its changes and its schema anew in the first
    page's head, and forgets that there was a log."""
    return one[100:] == other[100:] and _head(one) == _head(other)


def _head(image: bytes) -> bytes:
    return image[:18] + image[20:24] + image[28:40] + image[44:92]

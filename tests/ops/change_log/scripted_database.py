"""A database that scripts are run on, with every page of it after each commit, read by SQLite itself.

Covers nothing by itself: used by the tests of the change log.
"""

from __future__ import annotations

import random
from pathlib import Path

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
        self._columns = 0

    def run(self, verb: str, seed: int) -> None:
        """One step. Steps that would have to wait for the other connection do nothing."""
        chance = random.Random(seed)
        try:
            getattr(self, f"do_{verb}")(self.writers[chance.randrange(2)], chance)
        except sqlite.OperationalError as failure:
            if failure.sqlite_errorcode & 0xFF not in (sqlite.SQLITE_BUSY, sqlite.SQLITE_LOCKED):
                raise

    def do_insert(self, raw: sqlite.Connection, chance: random.Random) -> None:
        rows = [(chance.randbytes(chance.randrange(6000)),) for _ in range(chance.randrange(1, 12))]
        raw.execute("BEGIN IMMEDIATE")
        raw.executemany("INSERT INTO t (w) VALUES (?)", rows)
        raw.execute("COMMIT")

    def do_update(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute("UPDATE t SET w = ? WHERE n % 5 = ?", (chance.randbytes(900), chance.randrange(5)))

    def do_delete(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute("DELETE FROM t WHERE n % 3 = ?", (chance.randrange(3),))

    def do_rollback(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("INSERT INTO t (w) VALUES (?)", (chance.randbytes(60_000),))
        raw.execute("DELETE FROM t WHERE n % 2 = 0")
        raw.execute("ROLLBACK")

    def do_savepoint(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("SAVEPOINT one")
        raw.execute("INSERT INTO t (w) VALUES (?)", (chance.randbytes(50_000),))
        raw.execute("ROLLBACK TO one")
        raw.execute("RELEASE one")
        raw.execute("INSERT INTO t (w) VALUES ('kept')")
        raw.execute("COMMIT")

    def do_schema(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute("BEGIN IMMEDIATE")
        self._columns += 1
        raw.execute(f"ALTER TABLE t ADD COLUMN c{self._columns} TEXT DEFAULT 'x'")
        raw.execute(f"CREATE TABLE IF NOT EXISTS u{self._columns} AS SELECT w FROM t LIMIT 20")
        raw.execute(f"DROP TABLE IF EXISTS u{self._columns - 1}")
        raw.execute("COMMIT")

    def do_shrink(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute(f"PRAGMA incremental_vacuum({chance.randrange(1, 40)})").fetchall()

    def do_vacuum(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute("VACUUM")

    def do_checkpoint(self, raw: sqlite.Connection, chance: random.Random) -> None:
        raw.execute(f"PRAGMA wal_checkpoint({chance.choice(['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'])})").fetchall()

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

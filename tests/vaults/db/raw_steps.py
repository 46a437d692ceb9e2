"""What random scripts do to a table ``t`` (n, w) through a connection of SQLite's own, by name.

Covers nothing by itself: used by the tests of the change log and of the cluster.
"""

from __future__ import annotations

import random

from vaults.db.engine import sqlite


class RawSteps:
    """For one database."""

    def __init__(self) -> None:
        self._columns = 0

    def run(self, verb: str, raw: sqlite.Connection, chance: random.Random) -> None:
        """One step. What would have to wait for another connection does nothing."""
        try:
            getattr(self, f"do_{verb}")(raw, chance)
        except sqlite.OperationalError as failure:
            if failure.sqlite_errorcode & 0xFF not in (sqlite.SQLITE_BUSY, sqlite.SQLITE_LOCKED):
                raise

    def do_insert(self, raw: sqlite.Connection, chance: random.Random) -> None:
        rows = [(chance.randbytes(chance.randrange(6000)),) for _ in range(chance.randrange(1, 12))]
        raw.execute("BEGIN IMMEDIATE")
        raw.executemany("INSERT INTO t (w) VALUES (?)", rows)
        raw.execute("COMMIT")

    def do_large(self, raw: sqlite.Connection, chance: random.Random) -> None:
        """More than SQLite leaves in its log."""
        raw.execute("BEGIN IMMEDIATE")
        raw.executemany("INSERT INTO t (w) VALUES (?)", [(chance.randbytes(20_000),) for _ in range(250)])
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

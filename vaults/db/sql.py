"""The small surface SQL goes through: what SQLite and PostgreSQL share.

Domain modules write SQL against ``Reader`` and ``Writer`` and never touch a driver object. A function that takes one
runs on the database's own thread, inside one transaction; it must not wait for anything else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from vaults.change_notes import ChangeNote, ContentHash
from vaults.db.engine import sqlite

Params: TypeAlias = Mapping[str, Any] | Sequence[Any]
Row: TypeAlias = tuple[Any, ...]

CLOCK_CHECK_STEPS = 20_000
"""Steps of SQLite's machine between two looks at the clock: a fraction of a millisecond."""


def bind_list(name: str, values: Iterable[Any]) -> tuple[str, dict[str, Any]]:
    """The inside of an ``IN (…)``, and its parameters: ``name0``, ``name1`` and so on."""
    params = {f"{name}{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{each}" for each in params) or "NULL", params


class Reader:
    """Reads inside one consistent snapshot."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite.Connection) -> None:
        self._connection = connection

    def version(self) -> int:
        """A number that stays the same until somebody, in any process, commits more than bookkeeping."""
        # SQLite's own count of commits is no use here: the activity log commits all the time.
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def size(self) -> int:
        """Bytes the database takes, this transaction included; free pages are not counted."""
        pages, free, each = (self.value(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
        return (int(pages) - int(free)) * int(each)

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        """Every row."""
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, params: Params = ()) -> Row | None:
        """The first row, or None."""
        row: Row | None = self._connection.execute(sql, params).fetchone()
        return row

    def value(self, sql: str, params: Params = ()) -> Any:
        """The first column of the first row, or None."""
        row = self._connection.execute(sql, params).fetchone()
        return row[0] if row else None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Interrupt a statement that still runs after ``seconds``, give or take milliseconds, with ``TimeoutError``;
        the transaction goes on."""
        until = time.perf_counter() + seconds
        self._connection.set_progress_handler(lambda: time.perf_counter() > until, CLOCK_CHECK_STEPS)
        try:
            yield
        except sqlite.OperationalError as failure:
            if failure.sqlite_errorcode != sqlite.SQLITE_INTERRUPT:
                raise
            raise TimeoutError from failure
        finally:
            self._connection.set_progress_handler(None, CLOCK_CHECK_STEPS)


class Writer(Reader):
    """Reads and writes inside one transaction."""

    __slots__ = ("_changes",)

    def __init__(self, connection: sqlite.Connection, changes: list[ChangeNote] | None = None) -> None:
        super().__init__(connection)
        self._changes = changes

    def note_change(
        self,
        kind: str,
        identity: str | ContentHash,
        before: str | ContentHash | None,
        after: str | ContentHash | None,
    ) -> None:
        """Have the audit record what this transaction changes, if it is committed: hashes of what stood there before
        and after, or states or versions; None for what was not there, or is not any more."""
        if self._changes is not None:
            self._changes.append(ChangeNote(kind, identity, before, after))

    def run(self, sql: str, params: Params = ()) -> int:
        """Execute one statement; returns the number of rows it changed."""
        return self._connection.execute(sql, params).rowcount

    def insert(self, sql: str, params: Params = ()) -> int:
        """Execute one INSERT; returns the number the database gave the new row."""
        return int(self._connection.execute(sql, params).lastrowid or 0)

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        """Execute one statement for each of ``rows``."""
        if rows or not isinstance(rows, list):  # without rows it would still be compiled
            self._connection.executemany(sql, rows)

    def count_change(self) -> None:
        """Give the database another ``version``, as part of this transaction."""
        self._connection.execute(f"PRAGMA user_version = {(self.version() + 1) % 2**31}")

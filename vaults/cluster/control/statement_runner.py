"""What ``Reader`` and ``Writer`` ask of a connection, asked of PostgreSQL inside one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn, cast

import psycopg

from vaults.cluster.control.statements import changes_rows, to_postgres, to_values
from vaults.cluster.postgres.connections import Connection
from vaults.db.sql import Params, Row

if TYPE_CHECKING:
    from vaults.db.engine import sqlite


class StatementResult:
    """What one statement led to, as a cursor of SQLite tells it."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: psycopg.ClientCursor[Row]) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        """Rows it changed; -1 for one that changes none."""
        return self._cursor.rowcount if self._cursor.description is None else -1

    @property
    def lastrowid(self) -> NoReturn:
        """PostgreSQL numbers no rows by itself."""
        raise NotImplementedError("a statement on control.db cannot ask for the number of a new row")

    def fetchone(self) -> Row | None:
        """The next row."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Row]:
        """Every row that is left."""
        return self._cursor.fetchall()


class StatementRunner:
    """Runs statements written for SQLite. ``changed``: how many rows they changed so far."""

    def __init__(self, connection: Connection) -> None:
        # Values are quoted by libpq and not sent apart: PostgreSQL then finds their types as SQLite does, from where
        # they stand, also in ``:name IS NULL``.
        self._connection = connection
        self.changed = 0

    def execute(self, sql: str, params: Params = ()) -> StatementResult:
        """Run one statement."""
        cursor = psycopg.ClientCursor(self._connection)
        cursor.execute(to_postgres(sql), to_values(params))
        if changes_rows(sql):
            self.changed += cursor.rowcount
        return StatementResult(cursor)

    def executemany(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement for each of ``rows``, all sent before the first is answered: values go apart here, so their
        types must be those of the columns they are for."""
        with self._connection.cursor() as cursor:
            cursor.executemany(to_postgres(sql), [to_values(row) for row in rows])
            if changes_rows(sql):
                self.changed += cursor.rowcount

    def as_sqlite(self) -> sqlite.Connection:
        """Itself, as ``Reader`` and ``Writer`` name the type of what they ask."""
        return cast("sqlite.Connection", self)

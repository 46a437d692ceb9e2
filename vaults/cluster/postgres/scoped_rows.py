"""``Reader`` and ``Writer`` over PostgreSQL, for statements on the rows of one chain of the audit.

Those statements name views, which show the rows of the chain that the transaction named. The driver binds values as
literals, so that each has the type it is compared with, as in SQLite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import psycopg

from vaults.cluster.postgres.connections import Connection
from vaults.db.sql import Params, Row

_NAMED = re.compile(r":([a-z][a-z0-9_]*)")


class ScopedRows:
    """What ``Reader`` and ``Writer`` ask of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, params: Params = ()) -> psycopg.Cursor[Row]:
        """One statement; its rows are read from the cursor."""
        return psycopg.ClientCursor(self._connection).execute(_to_driver(sql), params or {})

    def executemany(self, sql: str, rows: Iterable[Params]) -> None:
        """One statement for each of ``rows``, sent together."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_to_driver(sql), rows)


@lru_cache(maxsize=256)
def _to_driver(sql: str) -> Any:
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%")).encode()

"""Statements that answered writes wait for, sent without a cursor: prepared once on each connection, run by name.

A cursor finds out types, rows and plans anew for each statement: of the processor time of one append, which is little
of PostgreSQL's and much of the driver's, that was half.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from psycopg import errors, generators
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from vaults.cluster.postgres.connections import Connection


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """One that changes rows and returns none. ``text`` names its values ``$1`` and so on; all of them are sent in the
    binary form of their types, which ``to_bigint`` makes of numbers: a text holds any character then."""

    name: bytes
    text: bytes

    def run(self, connection: Connection, values: Sequence[bytes]) -> int:
        """How many rows it changed; committed when this returns. One round trip, and another one where the connection
        does not know it yet. Raises the driver's errors."""
        if self.name in connection.prepared:
            try:
                return self._run_prepared(connection, values)
            except errors.InvalidSqlStatementName:  # nothing was done: after a rollback the driver deallocates all
                connection.prepared.discard(self.name)
        connection.pgconn.send_prepare(self.name, self.text)
        with suppress(errors.DuplicatePreparedStatement):  # it is known there all the same
            _take_result(connection)
        connection.prepared.add(self.name)
        return self._run_prepared(connection, values)

    def _run_prepared(self, connection: Connection, values: Sequence[bytes]) -> int:
        connection.pgconn.send_query_prepared(self.name, values, [Format.BINARY] * len(values))
        return _take_result(connection).command_tuples or 0


def to_bigint(number: int) -> bytes:
    """A number as PostgreSQL takes a bigint."""
    return number.to_bytes(8, "big", signed=True)


def _take_result(connection: Connection) -> PGresult:
    result: PGresult = connection.wait(generators.execute(connection.pgconn))[-1]
    if result.status != ExecStatus.COMMAND_OK:
        raise errors.error_from_result(result)
    return result

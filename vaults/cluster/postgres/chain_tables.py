"""The chains of the audit as rows, for whoever chains and signs entries: here they are only numbered rows.

Any server adds to any chain. An entry takes the number after the head its server knew, in one statement: two servers
cannot take the same number, so who comes second is told, and looks what the head is now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from psycopg import errors

from vaults.cluster.control.statement_runner import StatementRunner
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connection, Connections
from vaults.cluster.postgres.prepared_statements import PreparedStatement, to_bigint
from vaults.db.sql import Reader, Writer

T = TypeVar("T")

FAR = 2**62
"""Later than any entry."""

TRIES = 10
"""How often a transaction is run that met others which added to the same chain."""

_REGISTER = """
WITH added AS (INSERT INTO strongroom.audit_chains (name) VALUES (%(name)s) ON CONFLICT DO NOTHING RETURNING id)
SELECT id FROM added UNION ALL SELECT id FROM strongroom.audit_chains WHERE name = %(name)s
"""

_APPEND = """
INSERT INTO strongroom.audit_entries (chain, seq, at, body, hash)
SELECT %(chain)s, t.seq, t.at, t.body, t.hash
FROM unnest(%(seqs)s::bigint[], %(ats)s::bigint[], %(bodies)s::text[], %(hashes)s::bytea[]) AS t (seq, at, body, hash)
WHERE NOT EXISTS (SELECT FROM strongroom.audit_anchors WHERE chain = %(chain)s AND seq > %(head)s)
  AND (%(head)s = 0
       OR EXISTS (SELECT FROM strongroom.audit_entries WHERE chain = %(chain)s AND seq = %(head)s AND hash = %(last)s)
       OR EXISTS (SELECT FROM strongroom.audit_anchors WHERE chain = %(chain)s AND seq = %(head)s))
"""
"""Nothing where the head is not there: a chain goes on from what it ends with, also where old entries were deleted."""

_APPEND_ONE = PreparedStatement(
    b"append_to_chain",
    b"""
INSERT INTO strongroom.audit_entries (chain, seq, at, body, hash)
SELECT $1::bigint, $4::bigint, $5::bigint, $6::text, $7::bytea
WHERE NOT EXISTS (SELECT FROM strongroom.audit_anchors WHERE chain = $1 AND seq > $2::bigint)
  AND ($2 = 0
       OR EXISTS (SELECT FROM strongroom.audit_entries WHERE chain = $1 AND seq = $2 AND hash = $3::bytea)
       OR EXISTS (SELECT FROM strongroom.audit_anchors WHERE chain = $1 AND seq = $2))
""",
)
"""The same for a single entry, as most are: arrays take a third longer."""

_SCOPE = """
SELECT set_config('search_path', 'strongroom', true), set_config('strongroom.chain', %(chain)s::text, true)
"""

_LOCK = "SELECT pg_advisory_xact_lock(%(lock)s, %(chain)s)"
_LOCK_OF_CHAINS = 0x41554454

_UNSIGNED = """
SELECT c.name FROM strongroom.audit_chains c CROSS JOIN LATERAL (
  SELECT at FROM strongroom.audit_entries WHERE chain = c.id AND seq > GREATEST(
    (SELECT max(seq) FROM strongroom.audit_checkpoints WHERE chain = c.id),
    (SELECT max(seq) FROM strongroom.audit_anchors WHERE chain = c.id), 0)
  ORDER BY seq LIMIT 1
) AS first
WHERE first.at < %(before)s ORDER BY c.name
"""

_BEGUN = """
SELECT c.name FROM strongroom.audit_chains c CROSS JOIN LATERAL (
  SELECT at FROM strongroom.audit_entries WHERE chain = c.id ORDER BY seq LIMIT 1
) AS first
WHERE first.at < %(before)s ORDER BY c.name
"""

_UNSENT = """
SELECT c.name FROM strongroom.audit_chains c
LEFT JOIN strongroom.audit_forwarded f ON f.chain = c.id AND f.receiver = %(receiver)s
WHERE EXISTS (SELECT FROM strongroom.audit_entries WHERE chain = c.id AND seq > COALESCE(f.seq, 0)) ORDER BY c.name
"""


@dataclass(frozen=True, slots=True)
class ChainRow:
    """One entry; ``at`` in milliseconds since 1970."""

    seq: int
    at: int
    body: str
    hash: bytes


class ChainTables:
    """All chains. Any thread; blocking. Everything raises ``LogUnavailable``, ``ReadOnly``, ``StorageFull``."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def register(self, name: str) -> int:
        """The number of a chain, which is added where there is none."""
        with self._connections.use() as connection:
            for _ in range(TRIES):  # one that another server adds just now is seen by the next statement
                row = connection.execute(_REGISTER, {"name": name}).fetchone()
                if row is not None:
                    return int(row[0])
        raise LogUnavailable

    def names(self) -> list[str]:
        """Every chain there is."""
        return self._names("SELECT name FROM strongroom.audit_chains ORDER BY name")

    def unsigned(self, before: int = FAR) -> list[str]:
        """Chains with entries that nobody signed yet, of before a moment in milliseconds since 1970."""
        return self._names(_UNSIGNED, before=before)

    def begun_before(self, moment: int) -> list[str]:
        """Chains whose first entry is of before a moment, in milliseconds since 1970."""
        return self._names(_BEGUN, before=moment)

    def unsent(self, receiver: str) -> list[str]:
        """Chains with entries that a receiver did not take yet."""
        return self._names(_UNSENT, receiver=receiver)

    def _names(self, statement: str, **params: str | int) -> list[str]:
        with self._connections.use() as connection:
            return [str(name) for (name,) in connection.execute(statement.encode(), params)]

    def append(self, chain: int, head: int, last: bytes, rows: Sequence[ChainRow]) -> bool:
        """Add entries after ``head``, whose hash is ``last``; durable when this returns. False, and nothing was added:
        the chain ends with another entry by now."""
        with self._connections.use_kept() as connection:
            try:
                append = _append_one if len(rows) == 1 else _append_many
                return append(connection, chain, head, last, rows) == len(rows)
            except errors.UniqueViolation:
                return False

    def write(self, chain: int, work: Callable[[Writer], T]) -> T:
        """Run ``work`` in a transaction on the rows of one chain, with no other one beside it, and again where entries
        were added meanwhile that it meant to add."""
        for _ in range(TRIES):
            with suppress(errors.UniqueViolation), self._connections.use() as connection:
                return self._write(connection, chain, work)
        raise LogUnavailable("other servers add to this chain of the audit all the time")

    def _write(self, connection: Connection, chain: int, work: Callable[[Writer], T]) -> T:
        with connection.transaction():
            connection.execute(_SCOPE, {"chain": chain})
            connection.execute(_LOCK, {"lock": _LOCK_OF_CHAINS, "chain": chain})
            return work(Writer(StatementRunner(connection).as_sqlite()))

    def read(self, chain: int, work: Callable[[Reader], T]) -> T:
        """Run ``work`` in one snapshot of the rows of one chain."""
        with self._connections.use() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                connection.execute(_SCOPE, {"chain": chain})
                return work(Reader(StatementRunner(connection).as_sqlite()))
            finally:
                with suppress(psycopg.Error):  # the pool drops a connection that failed
                    connection.execute("ROLLBACK")


def _append_one(connection: Connection, chain: int, head: int, last: bytes, rows: Sequence[ChainRow]) -> int:
    [row] = rows
    values = (
        to_bigint(chain),
        to_bigint(head),
        last,
        to_bigint(row.seq),
        to_bigint(row.at),
        row.body.encode(),
        row.hash,
    )
    return _APPEND_ONE.run(connection, values)


def _append_many(connection: Connection, chain: int, head: int, last: bytes, rows: Sequence[ChainRow]) -> int:
    values = {
        "chain": chain,
        "head": head,
        "last": last,
        "seqs": [row.seq for row in rows],
        "ats": [row.at for row in rows],
        "bodies": [row.body for row in rows],
        "hashes": [row.hash for row in rows],
    }
    return connection.execute(_APPEND, values).rowcount

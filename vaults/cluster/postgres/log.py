"""The log of each vault as rows: an append is one conditional statement, which is all the fencing there is.

Whether a holder's lease is over plays no part in an append: its epoch and head are enough for a log that cannot fork.
Whoever takes a vault changes the epoch in the row that an append changes, so each append is whole before that, and
read by the new holder, or refused after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from vaults.cluster.failures import Fenced, LogDamaged, LogUnavailable
from vaults.cluster.postgres import bases
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.prepared_statements import PreparedStatement, to_bigint
from vaults.cluster.vault_log import LogEntry, Placement

READ_AT_ONCE = 4 * 1024 * 1024
"""Bytes of entries fetched by one statement, or one entry where it is larger."""

_APPEND = PreparedStatement(
    b"append_to_log",
    b"""
WITH held AS (
  UPDATE strongroom.placement SET head = head + 1
  WHERE vault = $1::text AND server = $2::text AND epoch = $3::bigint AND head = $4::bigint
  RETURNING vault, head, epoch
)
INSERT INTO strongroom.vault_log (vault, seq, epoch, payload)
SELECT vault, head, epoch, $5::bytea FROM held
""",
)

_NOTE_PURGE = """
UPDATE strongroom.placement SET purged = head
WHERE vault = %(vault)s AND server = %(server)s AND epoch = %(epoch)s RETURNING purged
"""

_HEAD = "SELECT head FROM strongroom.placement WHERE vault = %(vault)s"

_ENTRIES = """
SELECT seq, epoch, payload FROM (
  SELECT seq, epoch, payload, sum(octet_length(payload)) OVER (ORDER BY seq) - octet_length(payload) AS before
  FROM (SELECT seq, epoch, payload FROM strongroom.vault_log
        WHERE vault = %(vault)s AND seq > %(after)s AND seq <= %(head)s ORDER BY seq LIMIT 500) AS next
) AS bounded WHERE before < %(bytes)s ORDER BY seq
"""


_SIZES = """
SELECT coalesce((SELECT sum(octet_length(data)) FROM strongroom.vault_base_part WHERE base = b.id), 0)::bigint,
       coalesce((SELECT sum(octet_length(payload)) FROM strongroom.vault_log
                 WHERE vault = %(vault)s AND seq > b.seq), 0)::bigint
FROM strongroom.vault_base b WHERE b.vault = %(vault)s AND b.parts IS NOT NULL ORDER BY b.seq DESC, b.id DESC LIMIT 1
"""
"""Lengths stand beside the values: no payload is read."""


class PostgresVaultLog:
    """A ``VaultLog``. Any thread; blocking."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def append(self, placement: Placement, payload: bytes) -> Placement:
        """The contract's. Never tried again here: an append that was sent and not answered may still be made."""
        held = (
            placement.vault.encode(),
            placement.server.encode(),
            to_bigint(placement.epoch),
            to_bigint(placement.head),
            payload,
        )
        with self._connections.use_kept() as connection:
            appended = _APPEND.run(connection, held) == 1
        if not appended:
            raise Fenced
        return replace(placement, head=placement.head + 1)

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        """The contract's, up to the head as it was at the first one. Raises ``LogDamaged`` where one is missing,
        ``LogUnavailable`` also where a base took their place meanwhile."""
        head = self._head(vault)
        while after < head:
            for entry in self._next_entries(vault, after, head):
                if entry.seq != after + 1:
                    raise self._missing(vault, after + 1)
                yield entry
                after = entry.seq

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        """The contract's. The parts raise ``LogDamaged`` where one is missing, ``LogUnavailable``."""
        return bases.newest(self._connections, vault)

    def sizes(self, vault: str) -> tuple[int, int]:
        """The contract's; zeros where there is no base."""
        with self._connections.use() as connection:
            row = connection.execute(_SIZES, {"vault": vault}).fetchone()
        return (0, 0) if row is None else (int(row[0]), int(row[1]))

    def note_purge(self, placement: Placement) -> Placement:
        """The contract's."""
        held = {"vault": placement.vault, "server": placement.server, "epoch": placement.epoch}
        with self._connections.use() as connection:
            row = connection.execute(_NOTE_PURGE, held).fetchone()
        if row is None:
            raise Fenced
        return replace(placement, purged=int(row[0]))

    def replace_base(self, placement: Placement, seq: int, parts: Iterable[bytes]) -> None:
        """The contract's; one at a time for each vault. Raises ``InvalidArgument`` for a ``seq`` that is ahead of the
        log or behind the base that is there, ``Fenced``, ``LogUnavailable``."""
        bases.replace(self._connections, placement, seq, parts)

    def _head(self, vault: str) -> int:
        with self._connections.use() as connection:
            row = connection.execute(_HEAD, {"vault": vault}).fetchone()
        return 0 if row is None else int(row[0])

    def _next_entries(self, vault: str, after: int, head: int) -> list[LogEntry]:
        bounds = {"vault": vault, "after": after, "head": head, "bytes": READ_AT_ONCE}
        with self._connections.use() as connection:
            entries = [LogEntry(*row) for row in connection.execute(_ENTRIES, bounds, binary=True)]
        if not entries:
            raise self._missing(vault, after + 1)
        return entries

    def _missing(self, vault: str, seq: int) -> LogDamaged | LogUnavailable:
        newest = bases.newest_seq(self._connections, vault)
        if newest is not None and newest >= seq:
            return LogUnavailable("a base took the place of these entries while they were read")
        return LogDamaged(vault, seq, "an entry is missing")

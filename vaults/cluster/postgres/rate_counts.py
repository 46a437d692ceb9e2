"""What each server counted towards limits of the installation, for the others to add to their own.

The table is unlogged: it is written often, nobody is answered by it alone, and after a crash of PostgreSQL the minute
begins anew. Keys are digests, so that no name of anybody stands there. Times are PostgreSQL's, told as what is left.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaults.cluster.postgres.connections import Connections

_EXCHANGE = """
WITH told AS (
  INSERT INTO strongroom.rate_counts (server, key, hits, until, changed)
  SELECT %(server)s, t.key, t.hits, clock_timestamp() + make_interval(secs => t.left_s), clock_timestamp()
  FROM unnest(%(keys)s::bytea[], %(hits)s::bigint[], %(left)s::float8[]) AS t (key, hits, left_s)
  ON CONFLICT (server, key) DO UPDATE SET hits = excluded.hits, until = excluded.until, changed = excluded.changed
)
SELECT server, key, hits, extract(epoch FROM until - clock_timestamp())::float8, changed FROM strongroom.rate_counts
WHERE server <> %(server)s AND until > clock_timestamp()
  AND changed >= COALESCE(%(since)s::timestamptz, '-infinity') - interval '5 seconds'
"""
"""Rows are seen when they are committed, and say when they were made: those of the last seconds are read again."""

_SWEEP = """
DELETE FROM strongroom.rate_counts WHERE (server, key) IN (
  SELECT server, key FROM strongroom.rate_counts WHERE until < clock_timestamp() LIMIT 10000 FOR UPDATE SKIP LOCKED
)
"""


@dataclass(frozen=True, slots=True)
class RateCount:
    """What one server counted under a key, for so many seconds more."""

    server: str
    key: bytes
    hits: int
    left_s: float


class RateCounts:
    """The counts of one server among the others'. Blocking; one call at a time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.server = secrets.token_hex(8)
        """Another after each start: what was counted before goes on counting until it is too old."""
        self._since: Any = None

    def exchange(self, own: Sequence[RateCount]) -> list[RateCount]:
        """Tell what changed here, and learn what changed elsewhere since the last time; some of it perhaps again.
        Raises ``LogUnavailable``, ``ReadOnly``, ``StorageFull``."""
        told = {
            "server": self.server,
            "keys": [each.key for each in own],
            "hits": [each.hits for each in own],
            "left": [each.left_s for each in own],
            "since": self._since,
        }
        with self._connections.use() as connection:
            rows = connection.execute(_EXCHANGE, told).fetchall()
        if rows:
            self._since = max(row[4] for row in rows)
        return [RateCount(server, bytes(key), hits, left_s) for server, key, hits, left_s, _ in rows]

    def sweep(self) -> None:
        """Remove what counts no more, whoever counted it. Raises as ``exchange``."""
        with self._connections.use() as connection:
            connection.execute(_SWEEP)

"""Which vaults are large, by the number of parts in their bases, one for each megabyte of database; and which server
has a standby copy of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from vaults.cluster.postgres.connections import Connections

_LARGE = """
SELECT p.vault, p.server, p.standby, p.head, b.seq, b.parts - 1
FROM strongroom.vault_base b JOIN strongroom.placement p ON p.vault = b.vault
WHERE b.parts > %(parts)s AND NOT EXISTS (
  SELECT FROM strongroom.vault_base n WHERE n.vault = b.vault AND n.parts IS NOT NULL AND (n.seq, n.id) > (b.seq, b.id))
ORDER BY p.vault
"""

_SAY = """
UPDATE strongroom.placement SET standby = CASE WHEN vault = ANY(%(vaults)s) THEN %(server)s END
WHERE (vault = ANY(%(vaults)s) AND standby IS DISTINCT FROM %(server)s)
   OR (standby = %(server)s AND vault <> ALL(%(vaults)s))
"""


@dataclass(frozen=True, slots=True)
class LargeVault:
    """``server``: who holds it, alive or not; ``standby``: who last said that it has a copy; ``head``: the last entry
    of its log; ``base_seq``: the one its base is of; ``base_mb``: megabytes of the database then."""

    vault: str
    server: str | None
    standby: str | None
    head: int
    base_seq: int
    base_mb: int


class LargeVaults:
    """Those whose base is of more than ``above_mb`` megabytes. Any thread; blocking. Raises ``LogUnavailable``."""

    def __init__(self, connections: Connections, above_mb: int) -> None:
        self._connections = connections
        self._above_mb = above_mb

    def find(self) -> list[LargeVault]:
        """In the order of their ids."""
        with self._connections.use() as connection:
            return [LargeVault(*row) for row in connection.execute(_LARGE, {"parts": self._above_mb + 1})]

    def say_copies(self, server: str, vaults: Collection[str]) -> None:
        """Have all servers know that this one has copies of these vaults, and of no others."""
        with self._connections.use() as connection:
            connection.execute(_SAY, {"server": server, "vaults": list(vaults)})

"""Which vaults are large, by the number of parts in their bases: one for each megabyte of database."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.cluster.postgres.connections import Connections

_LARGE = """
SELECT p.vault, p.server, p.head, b.seq, b.parts - 1
FROM strongroom.vault_base b JOIN strongroom.placement p ON p.vault = b.vault
WHERE b.parts > %(parts)s AND NOT EXISTS (
  SELECT FROM strongroom.vault_base n WHERE n.vault = b.vault AND n.parts IS NOT NULL AND (n.seq, n.id) > (b.seq, b.id))
ORDER BY p.vault
"""


@dataclass(frozen=True, slots=True)
class LargeVault:
    """``server``: who holds it, alive or not; ``head``: the last entry of its log; ``base_seq``: the one its base is
    of; ``base_mb``: megabytes of the database then."""

    vault: str
    server: str | None
    head: int
    base_seq: int
    base_mb: int


def large_vaults(connections: Connections, above_mb: int) -> list[LargeVault]:
    """Those whose base is of more than so many megabytes, in the order of their ids. Blocking. Raises
    ``LogUnavailable``."""
    with connections.use() as connection:
        rows = connection.execute(_LARGE, {"parts": above_mb + 1})
        return [LargeVault(*row) for row in rows]

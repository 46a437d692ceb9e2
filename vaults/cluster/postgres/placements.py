"""Which server holds which vault. Each change is one conditional statement, right under READ COMMITTED."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.cluster.postgres.connections import Connections
from vaults.cluster.vault_log import Placement
from vaults.errors import NotFound

_REGISTER = """
INSERT INTO strongroom.placement (vault, server, epoch, head) VALUES (%(vault)s, NULL, 0, 0) ON CONFLICT DO NOTHING
"""

_TAKE = """
WITH free AS (
  SELECT p.vault, p.epoch FROM strongroom.placement p
  WHERE p.vault = %(vault)s
    AND (p.server IS NULL OR p.server = %(server)s
         OR NOT EXISTS (SELECT FROM strongroom.servers s WHERE s.id = p.server))
)
UPDATE strongroom.placement p SET server = %(server)s, epoch = p.epoch + 1 FROM free
WHERE p.vault = free.vault AND p.epoch = free.epoch
  AND EXISTS (SELECT FROM strongroom.servers s WHERE s.id = %(server)s)
RETURNING p.vault, p.server, p.epoch, p.head
"""
"""That a vault is free is found in one snapshot, and holds for the epoch it was found at: of all who find it, whoever
comes first changes the epoch, and the others, who waited for that row, find another one."""

_RELEASE = """
UPDATE strongroom.placement SET server = NULL
WHERE vault = %(vault)s AND server = %(server)s AND epoch = %(epoch)s
"""

_HOLDER = """
SELECT p.vault, p.server, p.epoch, p.head, s.address
FROM strongroom.placement p LEFT JOIN strongroom.servers s ON s.id = p.server
"""


@dataclass(frozen=True, slots=True)
class VaultHolder:
    """Who holds a vault, and where it is reached: ``address`` is None where nobody alive does."""

    vault: str
    server: str | None
    epoch: int
    head: int
    address: str | None


class Placements:
    """All placements. Any thread; blocking. Every method raises ``LogUnavailable``."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def register(self, vault: str) -> None:
        """Add a vault that nobody holds; again for nothing."""
        with self._connections.use() as connection:
            connection.execute(_REGISTER, {"vault": vault})

    def take(self, vault: str, server: str) -> Placement | None:
        """The vault at a new epoch where nobody alive holds it, or this server itself does, which fences what of its
        own may still be under way. None where another one holds it, or was quicker; ``holder`` says who."""
        with self._connections.use() as connection:
            row = connection.execute(_TAKE, {"vault": vault, "server": server}).fetchone()
        return Placement(*row) if row is not None else None

    def release(self, placement: Placement) -> bool:
        """Give it back, with the vault closed already. False where it was taken over before."""
        held = {"vault": placement.vault, "server": placement.server, "epoch": placement.epoch}
        with self._connections.use() as connection:
            return connection.execute(_RELEASE, held).rowcount == 1

    def holder(self, vault: str) -> VaultHolder:
        """Raises ``NotFound`` where no such vault was registered."""
        with self._connections.use() as connection:
            row = connection.execute(f"{_HOLDER} WHERE p.vault = %(vault)s", {"vault": vault}).fetchone()
        if row is None:
            raise NotFound(f"the cluster has no vault {vault}")
        return VaultHolder(*row)

    def holders(self) -> list[VaultHolder]:
        """Of every vault, in the order of their names."""
        with self._connections.use() as connection:
            return [VaultHolder(*row) for row in connection.execute(f"{_HOLDER} ORDER BY p.vault")]

    def held_by(self, server: str) -> list[VaultHolder]:
        """The vaults of one server, in the order of their names."""
        with self._connections.use() as connection:
            rows = connection.execute(f"{_HOLDER} WHERE p.server = %(server)s ORDER BY p.vault", {"server": server})
            return [VaultHolder(*row) for row in rows]

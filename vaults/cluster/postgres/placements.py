"""Which server holds which vault. Each change is one conditional statement, right under READ COMMITTED."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.cluster.postgres.connections import Connections
from vaults.cluster.vault_log import Placement
from vaults.db.sql import Writer
from vaults.errors import NotFound

_REGISTER = """
INSERT INTO strongroom.placement (vault, server, epoch, head) VALUES (%(vault)s, NULL, 0, 0) ON CONFLICT DO NOTHING
"""

_TAKE = """
WITH found AS (
  SELECT p.vault, p.epoch, p.server,
         EXISTS (SELECT FROM strongroom.servers s WHERE s.id = p.server) AS held,
         (SELECT s.id FROM strongroom.servers s WHERE s.id = p.wanted AND s.id <> %(server)s) AS wanted
  FROM strongroom.placement p WHERE p.vault = %(vault)s
), free AS (
  SELECT * FROM found WHERE server = %(server)s OR (NOT held AND wanted IS NULL)
)
UPDATE strongroom.placement p SET server = %(server)s, epoch = p.epoch + 1, wanted = free.wanted,
  moved_to = (SELECT s.id FROM strongroom.servers s WHERE s.id = p.moved_to)
FROM free
WHERE p.vault = free.vault AND p.epoch = free.epoch
  AND EXISTS (SELECT FROM strongroom.servers s WHERE s.id = %(server)s)
RETURNING p.vault, p.server, p.epoch, p.head, p.purged
"""
"""That a vault is free is found in one snapshot, and holds for the epoch it was found at: of all who find it, whoever
comes first changes the epoch, and the others, who waited for that row, find another one."""

_RELEASE = """
UPDATE strongroom.placement SET server = NULL
WHERE vault = %(vault)s AND server = %(server)s AND epoch = %(epoch)s
"""

_HOLDER = """
SELECT p.vault, p.server, p.epoch, p.head, s.address, w.id, coalesce(p.pin, nullif(m.name, ''), m.id), p.standby
FROM strongroom.placement p LEFT JOIN strongroom.servers s ON s.id = p.server
LEFT JOIN strongroom.servers w ON w.id = p.wanted LEFT JOIN strongroom.servers m ON m.id = p.moved_to
"""

_WANT = """
UPDATE strongroom.placement p SET wanted = %(server)s
WHERE p.vault = %(vault)s AND p.server IS DISTINCT FROM %(server)s
  AND NOT EXISTS (
    SELECT FROM strongroom.servers s WHERE s.id = p.wanted AND s.id <> %(server)s
      AND (s.state = 'command' OR EXISTS (SELECT FROM strongroom.servers h WHERE h.id = p.server)))
"""
"""A vault that lies free for a server which only may be asked for it one day keeps nobody waiting who needs it now."""

_FORGO = "UPDATE strongroom.placement SET wanted = NULL WHERE vault = %(vault)s AND wanted = %(server)s"

_WISHES = """
SELECT p.vault, NULL, NULL FROM strongroom.placement p JOIN strongroom.servers s ON s.id = p.wanted
WHERE p.server = %(server)s AND p.wanted IS NOT NULL AND p.wanted <> p.server
UNION ALL
SELECT vault, pin, NULL FROM strongroom.placement WHERE pin IS NOT NULL
UNION ALL
SELECT p.vault, coalesce(nullif(s.name, ''), s.id), s.id
FROM strongroom.placement p JOIN strongroom.servers s ON s.id = p.moved_to
WHERE p.moved_to IS NOT NULL AND p.pin IS NULL
"""
"""One statement, as every server makes it with each beat. All are few, and each has an index of its own."""

_PIN = "UPDATE strongroom.placement SET pin = :server, moved_to = NULL WHERE vault = :vault"

_MOVE = """
UPDATE strongroom.placement SET moved_to = %(to)s
WHERE vault = %(vault)s AND server = %(server)s AND pin IS NULL
  AND EXISTS (SELECT FROM strongroom.servers s WHERE s.id = %(to)s AND s.state = 'serving')
"""

_REMOVE = (
    "DELETE FROM strongroom.placement WHERE vault = :vault",
    "DELETE FROM strongroom.vault_base WHERE vault = :vault",
    "DELETE FROM strongroom.vault_log WHERE vault = :vault",
)


@dataclass(frozen=True, slots=True)
class VaultHolder:
    """Who holds a vault, and where it is reached: ``address`` is None where nobody alive does. ``wanted``: the living
    server it is to go to next; ``pin``: the name of the one it belongs to, by its pin or as
    it was moved; ``standby``: the one that has a copy."""

    vault: str
    server: str | None
    epoch: int
    head: int
    address: str | None
    wanted: str | None = None
    pin: str | None = None
    standby: str | None = None


@dataclass(frozen=True, slots=True)
class PlacementWishes:
    """What is wanted of placements: the vaults of one server that living ones wait for; of all vaults that were pinned
    or moved the names of the servers they belong to; and of those that were moved the ids of these servers."""

    asked: list[str]
    pins: dict[str, str]
    moved: dict[str, str]


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
        own may still be under way. None where another one holds it, waits for it, or was quicker; ``holder`` says
        who."""
        with self._connections.use() as connection:
            row = connection.execute(_TAKE, {"vault": vault, "server": server}).fetchone()
        return Placement(*row) if row is not None else None

    def release(self, placement: Placement) -> bool:
        """Give it back, with the vault closed already. False where it was taken over before."""
        held = {"vault": placement.vault, "server": placement.server, "epoch": placement.epoch}
        with self._connections.use() as connection:
            return connection.execute(_RELEASE, held).rowcount == 1

    def want(self, vault: str, server: str) -> bool:
        """Have the holder hand it over to ``server``, and nobody else take it meanwhile. False where another one waits
        for it already, or it is here."""
        with self._connections.use() as connection:
            return connection.execute(_WANT, {"vault": vault, "server": server}).rowcount == 1

    def forgo(self, vault: str, server: str) -> None:
        """``want`` no more."""
        with self._connections.use() as connection:
            connection.execute(_FORGO, {"vault": vault, "server": server})

    def move(self, vault: str, server: str, to: str) -> bool:
        """Have a vault that ``server`` holds belong to the server ``to`` until that one is gone, as if it was pinned.
        False where it was pinned or taken meanwhile, or that one serves no more."""
        with self._connections.use() as connection:
            return connection.execute(_MOVE, {"vault": vault, "server": server, "to": to}).rowcount == 1

    def wishes_for(self, server: str) -> PlacementWishes:
        """What living servers wait for of this one, and every vault that was pinned or moved."""
        with self._connections.use() as connection:
            rows = connection.execute(_WISHES, {"server": server}).fetchall()
        return PlacementWishes(
            sorted(vault for vault, name, _ in rows if name is None),
            {vault: name for vault, name, _ in rows if name is not None},
            {vault: moved_to for vault, _, moved_to in rows if moved_to is not None},
        )

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


def pin_in(tx: Writer, vault: str, server: str | None) -> None:
    """Have a vault belong to the server of this name while it serves, or again to whichever its hash says."""
    tx.run(_PIN, {"vault": vault, "server": server})


def remove_in(tx: Writer, vault: str) -> None:
    """Forget a vault for ever, with its log and bases, in the transaction that takes it out of control's tables.
    Whoever holds it is fenced."""
    for statement in _REMOVE:
        tx.run(statement, {"vault": vault})

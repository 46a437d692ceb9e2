"""A vault that is held, its log, and what happens to its holder."""

from __future__ import annotations

import pytest

from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.vault_log import Placement


@pytest.fixture
def log(connections: Connections) -> PostgresVaultLog:
    return PostgresVaultLog(connections)


@pytest.fixture
def placements(connections: Connections) -> Placements:
    servers = Servers(connections, 3600.0)
    for name in ("a", "b"):
        servers.join(name, name, "1")
    placements = Placements(connections)
    placements.register("main")
    return placements


@pytest.fixture
def held(placements: Placements) -> Placement:
    return taken(placements, "a")


def taken(placements: Placements, server: str) -> Placement:
    placement = placements.take("main", server)
    assert placement is not None
    return placement


def stored(log: PostgresVaultLog, after: int = 0) -> list[tuple[int, int, bytes]]:
    return [(entry.seq, entry.epoch, entry.payload) for entry in log.entries("main", after)]


def lose(connections: Connections, server: str) -> None:
    """Remove a server as a silent one is."""
    with connections.use() as connection:
        connection.execute("DELETE FROM strongroom.servers WHERE id = %s", (server,))


def wait_until_blocked(connections: Connections) -> None:
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with connections.single() as connection:
        while connection.execute(blocked).fetchone() == (0,):
            pass

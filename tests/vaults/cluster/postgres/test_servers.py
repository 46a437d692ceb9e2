"""One row a server: it beats, falls silent, is removed once and for all, or leaves."""

from __future__ import annotations

import pytest

from vaults.cluster.failures import Fenced
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.server_watch import ServerBeat
from vaults.errors import AlreadyExists

LEASE_S = 3600.0


@pytest.fixture
def servers(connections: Connections) -> Servers:
    return Servers(connections, LEASE_S)


def put_clock(connections: Connections, seconds: float) -> None:
    """As if PostgreSQL's clock had been put ahead by so much: leases end so much earlier by it."""
    with connections.use() as connection:
        connection.execute("UPDATE strongroom.servers SET expires = expires - make_interval(secs => %s)", (seconds,))


def test_a_server_beats_and_sees_the_others(servers: Servers) -> None:
    servers.join("a", "10.0.0.1:8700", "0.1.0")
    servers.join("b", "10.0.0.2:8700", "0.2.0")
    assert servers.beat("a")[0] == ServerBeat("a", "10.0.0.1:8700", "0.1.0", 2, LEASE_S)
    assert set(servers.beat("b")) == {
        ServerBeat("a", "10.0.0.1:8700", "0.1.0", 2, LEASE_S),
        ServerBeat("b", "10.0.0.2:8700", "0.2.0", 2, LEASE_S),
    }
    servers.close()


def test_an_id_is_taken_once(servers: Servers) -> None:
    servers.join("a", "address", "1")
    with pytest.raises(AlreadyExists):
        servers.join("a", "address", "1")


def test_who_never_joined_is_fenced(servers: Servers) -> None:
    with pytest.raises(Fenced):
        servers.beat("a")
    servers.close()


def test_a_silent_server_is_removed_and_fenced_at_its_next_beat(servers: Servers, connections: Connections) -> None:
    servers.join("a", "address", "1")
    put_clock(connections, LEASE_S + 1)
    assert servers.remove(ServerBeat("a", "address", "1", 1, LEASE_S))
    with pytest.raises(Fenced):
        servers.beat("a")
    assert not servers.remove(ServerBeat("a", "address", "1", 1, LEASE_S))
    servers.close()


def test_who_has_beaten_since_is_not_removed(servers: Servers, connections: Connections) -> None:
    servers.join("a", "address", "1")
    servers.beat("a")
    put_clock(connections, LEASE_S + 1)
    assert not servers.remove(ServerBeat("a", "address", "1", 1, LEASE_S))
    servers.beat("a")
    servers.close()


def test_who_is_not_over_by_postgresqls_clock_is_not_removed(servers: Servers) -> None:
    servers.join("a", "address", "1")
    assert not servers.remove(ServerBeat("a", "address", "1", 1, LEASE_S))
    servers.close()


def test_a_clock_of_postgresql_that_was_put_back_keeps_no_dead_server(
    servers: Servers, connections: Connections
) -> None:
    servers.join("a", "address", "1")
    put_clock(connections, -86_400)
    assert servers.remove(ServerBeat("a", "address", "1", 1, LEASE_S))
    servers.close()


def test_who_leaves_gives_its_vaults_back(servers: Servers, connections: Connections) -> None:
    placements = Placements(connections)
    servers.join("a", "address", "1")
    for vault in ("one", "two"):
        placements.register(vault)
        placements.take(vault, "a")
    servers.leave("a")
    assert [holder.server for holder in placements.holders()] == [None, None]
    with pytest.raises(Fenced):
        servers.beat("a")
    servers.close()


def test_a_beat_survives_the_end_of_its_connection(servers: Servers, connections: Connections) -> None:
    servers.join("a", "address", "1")
    servers.beat("a")
    with connections.use() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
    assert servers.beat("a")[0].beat == 3
    servers.close()

"""Where a server says that it is reached: at what it listens on, towards the database it shares with the others."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from server.cluster.database import open_connections
from server.cluster.peer_door import open_peer_door
from server.cluster_settings import ClusterSettings
from tests.cluster.laid_out_databases import laid_out_database
from tests.cluster.postgres_server import PostgresServer
from vaults.errors import InvalidArgument


@pytest.fixture(scope="module")
def database(lasting_postgres: PostgresServer) -> str:
    return laid_out_database(lasting_postgres, "peer_door")


async def test_by_default_it_listens_on_the_address_it_has_towards_the_database(database: str) -> None:
    settings = ClusterSettings(url=database)
    async with AsyncExitStack() as stack:
        connections = await open_connections(stack, settings, "installation-1")
        door = await open_peer_door(stack, settings, connections)
        host, port = door.listener.getsockname()
        assert (host, door.address) == ("127.0.0.1", f"127.0.0.1:{port}")
        assert door.identity.certificate.startswith("-----BEGIN CERTIFICATE-----")


async def test_what_others_are_told_may_be_another_name(database: str) -> None:
    settings = ClusterSettings(url=database, host="0.0.0.0", address="one.servers.example:8701")
    async with AsyncExitStack() as stack:
        connections = await open_connections(stack, settings, "installation-1")
        assert (await open_peer_door(stack, settings, connections)).address == "one.servers.example:8701"


async def test_an_address_that_cannot_be_had_or_reached_is_refused_by_name(database: str) -> None:
    async with AsyncExitStack() as stack:
        connections = await open_connections(stack, ClusterSettings(url=database), "installation-1")
        for field, change in (
            ("cluster.address", {"host": "0.0.0.0"}),
            ("cluster.port", {"host": "192.0.2.1"}),
            ("cluster.host", {"host": "no such host"}),
        ):
            with pytest.raises(InvalidArgument, match=field):
                await open_peer_door(stack, ClusterSettings(url=database, **change), connections)

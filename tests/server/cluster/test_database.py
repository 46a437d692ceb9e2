"""The connections of a server to the cluster's database."""

from __future__ import annotations

from contextlib import AsyncExitStack

import psycopg
import pytest

from server.cluster.database import open_connections
from server.cluster_settings import ClusterSettings
from tests.cluster.postgres_server import PostgresServer
from vaults.errors import InvalidArgument


async def test_connections_of_this_installation_open_and_are_closed_with_the_server(
    postgres: PostgresServer, url: str
) -> None:
    async with AsyncExitStack() as stack:
        opened = await open_connections(stack, ClusterSettings(url=url, connections=2), "installation-1")
        with opened.use() as connection:
            assert connection.execute("SELECT id FROM strongroom.installation").fetchone() == ("installation-1",)
    with psycopg.connect(postgres.conninfo("postgres"), autocommit=True) as connection:
        # Refused as long as anybody is connected to it.
        connection.execute(f"DROP DATABASE {url.rsplit('/', 1)[1]}".encode())


async def test_another_installation_is_refused_by_name(url: str) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(InvalidArgument, match="belongs to another installation"):
            await open_connections(stack, ClusterSettings(url=url), "installation-2")

"""A database of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cluster.cut_proxy import CutProxy, proxied
from tests.cluster.laid_out_databases import laid_out_database
from tests.cluster.postgres_server import PostgresServer
from tests.vaults.cluster import logged_vault
from vaults.cluster.postgres.connections import Connections, DatabaseLogin


@pytest.fixture
def login(postgres: PostgresServer) -> DatabaseLogin:
    """Of a database that is laid out."""
    return DatabaseLogin(laid_out_database(postgres))


@pytest.fixture
def connections(login: DatabaseLogin) -> Iterator[Connections]:
    opened = Connections(login)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[CutProxy]:
    with proxied(postgres.port) as opened:
        yield opened


@pytest.fixture(autouse=True)
async def vaults_closed() -> AsyncIterator[None]:
    yield
    while logged_vault.made:
        await logged_vault.made.pop().close()

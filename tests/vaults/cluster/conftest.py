"""A database of its own for each test, in one PostgreSQL for all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cluster.cut_proxy import CutProxy, proxied
from tests.cluster.postgres_server import PostgresServer, running_postgres
from tests.vaults.cluster import logged_vault
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.schema import lay_out, open_database

INSTALLATION = "installation-1"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def login(postgres: PostgresServer) -> DatabaseLogin:
    """Of a database that is laid out."""
    login = DatabaseLogin(postgres.create_database())
    lay_out(login, INSTALLATION)
    return login


@pytest.fixture
def connections(login: DatabaseLogin) -> Iterator[Connections]:
    opened = open_database(login, INSTALLATION)
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

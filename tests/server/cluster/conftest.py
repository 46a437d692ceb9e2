"""One PostgreSQL for all tests here, and a database of its own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.postgres_server import PostgresServer, running_postgres
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.schema import lay_out

INSTALLATION = "installation-1"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Of a database that is laid out."""
    url = postgres.create_database()
    lay_out(DatabaseLogin(url), INSTALLATION)
    return url

"""One PostgreSQL for all tests here, and a database of its own for each."""

from __future__ import annotations

import pytest

from tests.cluster.postgres_server import PostgresServer
from tests.vaults.cluster.conftest import connections, login, postgres
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.schema import lay_out

__all__ = ["connections", "login", "postgres"]

INSTALLATION = "installation-1"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Of a database that is laid out."""
    url = postgres.create_database()
    lay_out(DatabaseLogin(url), INSTALLATION)
    return url

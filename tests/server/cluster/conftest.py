"""A database of its own for each test."""

from __future__ import annotations

import pytest

from tests.cluster.laid_out_databases import laid_out_database
from tests.cluster.postgres_server import PostgresServer
from tests.vaults.cluster.conftest import connections, login

__all__ = ["connections", "login"]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Of a database that is laid out."""
    return laid_out_database(postgres)

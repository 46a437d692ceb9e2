"""A database of its own for each test, and two servers over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.laid_out_databases import laid_out_database
from tests.cluster.open_servers import OpenServers, open_servers
from tests.cluster.postgres_server import PostgresServer
from tests.vaults.cluster.conftest import connections, login
from vaults.cluster import hand_overs

__all__ = ["connections", "login"]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Of a database that is laid out."""
    return laid_out_database(postgres)


@pytest.fixture
def unbalanced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vaults stay where the tests have them."""
    monkeypatch.setattr(hand_overs, "IDLE_S", float("nan"))


@pytest.fixture
async def servers(url: str, tmp_path: Path, unbalanced: None) -> AsyncIterator[OpenServers]:
    """Servers a and b, the first of which holds the vault main."""
    async with open_servers(tmp_path, url) as opened:
        yield opened

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from auth.keys import KeyRing, open_key_ring
from tests.auth.forge import Door
from tests.cluster.postgres_server import PostgresServer, programs
from tests.cluster.shared_control import connected, shared_control
from vaults.cluster.postgres.connections import Connections
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.db.transactions import Transactions
from vaults.settings import StorageSettings

PLACES = ("file", *(("postgres",) if programs() else ()))
"""Where the tables of control.db lie: every test that uses them is run for each."""


@pytest.fixture(scope="session")
def connections_of_control(lasting_postgres: PostgresServer) -> Iterator[Connections]:
    with connected(lasting_postgres) as connections:
        yield connections


@pytest.fixture(params=PLACES)
async def control(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Transactions]:
    if request.param == "postgres":
        shared = shared_control(request.getfixturevalue("connections_of_control"))
        yield shared
        await shared.close()
        return
    db = Database(tmp_path / "control.db", StorageSettings())
    await migrate(db, "control")
    yield db
    await db.close()


@pytest.fixture
async def control_file(tmp_path: Path) -> AsyncIterator[Database]:
    """For tests about the file."""
    db = Database(tmp_path / "control.db", StorageSettings())
    await migrate(db, "control")
    yield db
    await db.close()


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return open_key_ring(tmp_path / "keys")


@pytest.fixture
async def door(control: Database, ring: KeyRing) -> Door:
    made = Door(control, ring)
    await made.access_cache.refresh()
    return made

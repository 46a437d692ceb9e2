from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from auth.keys import KeyRing, open_key_ring
from tests.auth.forge import Door
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.settings import StorageSettings


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Database]:
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

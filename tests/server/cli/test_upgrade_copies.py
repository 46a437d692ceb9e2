"""``strongroom restore vault.db.before-N``: back to what the database held before an upgrade.

Covers ops.backup.upgrade_copies.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ops.vault_life import before_upgrade
from tests.noted import folder, put
from tests.server.cli.command import Strongroom
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.settings import StorageSettings


@pytest.fixture
def house(strongroom: Strongroom) -> Strongroom:
    """A vault with one memory, a copy of its database, and one memory and a note since."""
    assert strongroom("vault", "create", "main").code == 0
    assert strongroom("call", "remember", '{"content": "before the upgrade"}', "--vault", "main").code == 0
    asyncio.run(_keep(strongroom.data / "vaults/main/vault.db"))
    assert strongroom("call", "remember", '{"content": "after it"}', "--vault", "main").code == 0
    put(folder(strongroom.data), {"late.md": "# Late\n"})
    return strongroom


async def _keep(database: Path) -> None:
    db = Database(database, StorageSettings())
    schema = await db.read(lambda tx: tx.value("SELECT COUNT(*) FROM schema_steps"))
    await before_upgrade.keep_copy(db, schema, StorageSettings())
    await db.close()


def _memories(house: Strongroom, vault: str = "main") -> list[str]:
    return _column(house, "SELECT content FROM memories ORDER BY seq", vault)


def _column(house: Strongroom, sql: str, vault: str = "main") -> list[str]:
    raw = sqlite.connect(house.data / "vaults" / vault / "vault.db")
    try:
        return [text for (text,) in raw.execute(sql)]
    finally:
        raw.close()


def _copy(house: Strongroom) -> str:
    (found,) = (house.data / "vaults/main").glob("vault.db.before-*")
    return str(found)


def test_the_database_is_as_it_was_and_the_notes_as_they_are(house: Strongroom) -> None:
    ran = house("restore", _copy(house))
    assert ran.code == 0, ran.err
    assert _memories(house) == ["before the upgrade"]
    assert (folder(house.data) / "late.md").read_text() == "# Late\n"
    assert _column(house, "SELECT path FROM notes") == ["late.md"]


def test_it_can_be_looked_at_beside_the_vault_first(house: Strongroom) -> None:
    assert house("restore", _copy(house), "--dry-run").code == 0
    assert _memories(house) == ["before the upgrade", "after it"]
    assert house("restore", _copy(house), "--as", "then").code == 0
    assert _memories(house, "then") == ["before the upgrade"]
    assert _memories(house) == ["before the upgrade", "after it"]


def test_a_copy_of_a_vault_that_is_not_here_is_said(house: Strongroom, tmp_path: Path) -> None:
    elsewhere = tmp_path / "vault.db.before-3"
    raw = sqlite.connect(elsewhere)
    raw.execute("CREATE TABLE vault_info (key, value)")
    raw.execute("INSERT INTO vault_info VALUES ('vault_id', 'another')")
    raw.commit()
    raw.close()
    assert "no vault that is registered" in house("restore", str(elsewhere)).err

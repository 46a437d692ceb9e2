"""Before a vault is brought up to date its database is copied; where that fails it stays as it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from ops.vault_life import before_upgrade
from server.call import Caller
from tests.conftest import Opening, asker
from vaults import disk_reserve
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations, migrate
from vaults.errors import StorageFull
from vaults.settings import StorageSettings

OLD = 12


async def _old_vault(database: Path, vault_id: str) -> None:
    """A vault as an older version left it, in place of the one that is there."""
    for file in database.parent.glob("vault.db*"):
        file.unlink()
    db = Database(database, StorageSettings())
    await migrate(db, "vault", load_migrations("vault")[:OLD])
    await db.write(lambda tx: tx.run("INSERT INTO vault_info VALUES ('vault_id', :id)", {"id": vault_id}))
    await db.close()


def _value(database: Path, sql: str) -> object:
    raw = sqlite.connect(database)
    try:
        return raw.execute(sql).fetchone()[0]
    finally:
        raw.close()


async def test_an_upgrade_keeps_the_database_as_it_was_and_only_the_newest_copy(
    opening: Opening, tmp_path: Path
) -> None:
    database = tmp_path / "vaults" / "main" / "vault.db"
    async with opening() as services:
        vault_id = services.registry_cache.entry("main").vault_id
    await _old_vault(database, vault_id)
    older = database.with_name("vault.db.before-3")
    older.write_bytes(b"of an upgrade long ago")
    killed = database.with_name(".upgrading-0123")
    killed.mkdir()
    (killed / "vault.db").write_bytes(b"of a process that was killed")
    database.with_name(".upgrading-0123.lock").touch()
    with older.open("rb") as gone:
        async with opening() as services:
            status = await asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"))("status")
            assert status.ok
        assert set(gone.read()) == {0}
    (kept,) = before_upgrade.copies_of(database)
    assert kept.name == f"vault.db.before-{OLD}"
    assert kept.stat().st_mode & 0o077 == 0
    assert _value(kept, "SELECT COUNT(*) FROM schema_steps") == OLD
    assert _value(kept, "SELECT value FROM vault_info WHERE key = 'vault_id'") == vault_id
    assert _value(database, "SELECT COUNT(*) FROM schema_steps") == len(load_migrations("vault"))
    assert not list(database.parent.glob(".upgrading-*"))


async def test_a_new_vault_and_a_current_one_are_not_copied(opening: Opening, tmp_path: Path) -> None:
    for _ in range(2):
        async with opening() as services, services.pool.lease(services.registry_cache.entry("main")):
            pass
    assert not list((tmp_path / "vaults" / "main").glob("*before*"))


async def test_a_vault_that_cannot_be_copied_is_not_changed(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "vaults" / "main" / "vault.db"
    async with opening() as services:
        vault_id = services.registry_cache.entry("main").vault_id
    await _old_vault(database, vault_id)

    def full(*_: object) -> None:
        raise StorageFull("the disk is full")

    monkeypatch.setattr(before_upgrade, "_copy", full)
    async with opening() as services:
        with pytest.raises(StorageFull):
            async with services.pool.lease(services.registry_cache.entry("main")):
                pass
    assert _value(database, "SELECT COUNT(*) FROM schema_steps") == OLD
    assert not list(database.parent.glob("*before*"))


async def test_without_room_for_the_copy_nothing_is_copied_and_it_says_how_much_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "vault.db"
    await _old_vault(database, "id")
    monkeypatch.setattr(disk_reserve, "free_bytes", lambda _: 1000)
    db = Database(database, StorageSettings())
    with pytest.raises(StorageFull) as refused:
        await before_upgrade.keep_copy(db, OLD, StorageSettings())
    await db.close()
    assert refused.value.details["free_bytes"] == 1000 < refused.value.details["needed_bytes"]
    assert [each.name for each in tmp_path.iterdir()] == ["vault.db"]


async def test_processes_that_upgrade_at_once_take_no_copy_from_each_other(tmp_path: Path) -> None:
    database = tmp_path / "vault.db"
    await _old_vault(database, "id")
    some = [Database(database, StorageSettings()) for _ in range(4)]
    await asyncio.gather(*(before_upgrade.keep_copy(each, OLD, StorageSettings()) for each in some))
    for each in some:
        await each.close()
    (kept,) = before_upgrade.copies_of(database)
    assert _value(kept, "SELECT COUNT(*) FROM schema_steps") == OLD


async def test_the_installation_is_copied_before_its_upgrade_too(opening: Opening, tmp_path: Path) -> None:
    control = Database(tmp_path / "control.db", StorageSettings())
    steps = load_migrations("control")
    await migrate(control, "control", steps[:-1])
    await control.close()
    async with opening(vaults=()):
        pass
    (kept,) = before_upgrade.copies_of(tmp_path / "control.db")
    assert kept.name == f"control.db.before-{len(steps) - 1}"
    assert _value(kept, "SELECT COUNT(*) FROM schema_steps") == len(steps) - 1
    assert _value(tmp_path / "control.db", "SELECT COUNT(*) FROM schema_steps") == len(steps)


async def test_a_copy_of_a_database_that_another_process_has_begun_to_change_is_none(tmp_path: Path) -> None:
    database = tmp_path / "vault.db"
    await _old_vault(database, "id")
    db = Database(database, StorageSettings())
    await before_upgrade.keep_copy(db, OLD - 1, StorageSettings())
    assert not list(tmp_path.glob("*before*"))
    await db.close()


async def test_a_copy_of_an_upgrade_that_was_taken_back_does_not_stand_for_the_next_one(tmp_path: Path) -> None:
    database = tmp_path / "vault.db"
    await _old_vault(database, "before the first upgrade")
    db = Database(database, StorageSettings())
    await before_upgrade.keep_copy(db, OLD, StorageSettings())
    await db.write(lambda tx: tx.run("UPDATE vault_info SET value = 'written since' WHERE key = 'vault_id'"))
    kept = await before_upgrade.keep_copy(db, OLD, StorageSettings())
    assert _value(kept, "SELECT value FROM vault_info WHERE key = 'vault_id'") == "written since"
    await db.close()

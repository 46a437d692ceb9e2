"""Each step and its record commit together; the future and the foreign are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import MigrationStep, load_migrations, migrate, read_steps
from vaults.errors import VaultQuarantined
from vaults.settings import StorageSettings


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "m.db", StorageSettings())
    yield database
    await database.close()


async def _tables(db: Database) -> set[str]:
    rows = await db.read(lambda tx: tx.all("SELECT name FROM sqlite_master WHERE type = 'table'"))
    return {row[0] for row in rows}


@pytest.mark.parametrize("folder", ["vault", "control"])
async def test_a_second_start_is_a_no_op(db: Database, folder: str) -> None:
    assert await migrate(db, folder) == len(load_migrations(folder))
    assert await migrate(db, folder) == 0


def test_steps_are_read_in_order_from_a_first_one_on_without_a_gap(tmp_path: Path) -> None:
    for name in ("0003_b.sql", "0002_a.sql", "README.md"):
        (tmp_path / name).write_text(name)
    assert [step.name for step in read_steps(tmp_path, first=2)] == ["0002_a.sql", "0003_b.sql"]
    (tmp_path / "0005_d.sql").touch()
    with pytest.raises(RuntimeError, match="not numbered 2, 3, 4"):
        read_steps(tmp_path, first=2)


async def test_a_broken_step_leaves_the_version_before_it(db: Database) -> None:
    good = MigrationStep(1, "0001_a.sql", "CREATE TABLE a (n INTEGER);")
    broken = MigrationStep(2, "0002_b.sql", "CREATE TABLE b (n INTEGER);\nINSERT INTO nowhere VALUES (1);")
    with pytest.raises(sqlite.OperationalError):
        await migrate(db, "vault", (good, broken))
    assert await _tables(db) == {"schema_steps", "a"}
    repaired = MigrationStep(2, "0002_b.sql", "CREATE TABLE b (n INTEGER);")
    assert await migrate(db, "vault", (good, repaired)) == 1


async def test_a_vault_from_the_future_is_refused_untouched(db: Database) -> None:
    await migrate(
        db, "vault", (*load_migrations("vault"), MigrationStep(99, "0099_x.sql", "CREATE TABLE x (n INTEGER);"))
    )
    with pytest.raises(VaultQuarantined) as refused:
        await migrate(db, "vault")
    assert refused.value.details["reason"] == "future"


async def test_a_foreign_database_is_refused_untouched(db: Database) -> None:
    await db.write(lambda tx: tx.run("CREATE TABLE notes (n INTEGER)"))
    with pytest.raises(VaultQuarantined) as refused:
        await migrate(db, "vault")
    assert refused.value.details["reason"] == "foreign"
    assert await _tables(db) == {"notes"}


async def test_a_control_database_is_no_vault(db: Database) -> None:
    await migrate(db, "control")
    with pytest.raises(VaultQuarantined):
        await migrate(db, "vault")

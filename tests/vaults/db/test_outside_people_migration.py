"""Grants of the step before were given by somebody, and stay so."""

from __future__ import annotations

from pathlib import Path

from auth.grants import list_grants
from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.settings import StorageSettings


async def test_grants_of_before_follow_no_group(tmp_path: Path) -> None:
    chain = load_migrations("control")
    (step,) = (each for each in chain if each.name.endswith("_outside_people.sql"))
    db = Database(tmp_path / "control.db", StorageSettings())
    try:
        await migrate(db, "control", chain[: step.number - 1])
        row = "INSERT INTO grants VALUES ('sub:ann', 'local', 'main', 'writer', '2026-01-01T00:00:00Z')"
        await db.write(lambda tx: tx.run(row))
        assert await migrate(db, "control") == len(chain) - step.number + 1
        assert [(each.subject, each.source) for each in await db.read(list_grants)] == [("sub:ann", None)]
        assert await db.read(lambda tx: tx.all("SELECT * FROM outside_identities")) == []
    finally:
        await db.close()

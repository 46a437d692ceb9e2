"""A vault of the step before keeps its log of evictions; whose a private item was is who stored it."""

from __future__ import annotations

from pathlib import Path

from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.settings import StorageSettings


async def test_an_old_log_tells_who_stored_what_was_private(tmp_path: Path) -> None:
    chain = load_migrations("vault")
    (step,) = (each for each in chain if each.name.endswith("_evicted_storers.sql"))
    db = Database(tmp_path / "vault.db", StorageSettings())
    try:
        await migrate(db, "vault", chain[: step.number - 1])
        await db.write(
            lambda tx: tx.many(
                "INSERT INTO evictions (run, at, kind, item, id, title, owner, size, used, reason, state)"
                " VALUES ('r', '', 'document', 1, :id, 'Title', :owner, 1, '', 'retention', 'gone')",
                [{"id": "own", "owner": "local|ann"}, {"id": "shared", "owner": None}],
            )
        )
        assert await migrate(db, "vault") == len(chain) - step.number + 1
        rows = await db.read(lambda tx: tx.all("SELECT id, title, stored_by FROM evictions ORDER BY seq"))
        assert rows == [("own", "Title", "local|ann"), ("shared", "Title", None)]
    finally:
        await db.close()

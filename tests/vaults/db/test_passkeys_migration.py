"""An installation of the step before gains passkeys, and each person a random name for them."""

from __future__ import annotations

from pathlib import Path

from auth.people import people
from auth.people.passkeys import NewPasskey, add
from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.settings import StorageSettings


async def test_people_of_before_keep_their_passwords_and_can_have_passkeys(tmp_path: Path) -> None:
    chain = load_migrations("control")
    (step,) = (each for each in chain if each.name.endswith("_passkeys.sql"))
    db = Database(tmp_path / "control.db", StorageSettings())
    try:
        await migrate(db, "control", chain[: step.number - 1])
        row = "INSERT INTO people (name, password, created_at) VALUES (:name, :name, '2026-01-01T00:00:00Z')"
        await db.write(lambda tx: tx.many(row, [{"name": "ann"}, {"name": "ben"}]))
        assert await migrate(db, "control") == len(chain) - step.number + 1
        ann, ben = await db.read(people.list_people)
        assert (ann.password, ben.password) == ("ann", "ben")
        assert len({bytes.fromhex(each.handle) for each in (ann, ben)}) == 2
        assert len(bytes.fromhex(ann.handle)) == 32
        await db.write(lambda tx: add(tx, "ann", "key", NewPasskey("id", b"key", 0), 0))
        assert (await db.read(lambda tx: people.require(tx, "ann"))).passkeys == 1
    finally:
        await db.close()

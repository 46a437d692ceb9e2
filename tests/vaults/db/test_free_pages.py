"""What lies free in a database is given back: in steps where it was made for that, else after it was rewritten."""

from __future__ import annotations

from pathlib import Path

from vaults.db import free_pages
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.sql import Writer
from vaults.settings import StorageSettings


async def _fill_and_empty(db: Database) -> None:
    def fill(tx: Writer) -> None:
        tx.run("CREATE TABLE t (x BLOB)")
        tx.many("INSERT INTO t VALUES (:x)", [{"x": bytes(4000)}] * 500)

    await db.write(fill)
    await db.write(lambda tx: tx.run("DELETE FROM t"))
    await db.checkpoint()


async def test_a_new_database_becomes_shorter_in_steps(tmp_path: Path) -> None:
    db = Database(tmp_path / "new.db", StorageSettings())
    await _fill_and_empty(db)
    before = db.path.stat().st_size
    assert (await db.read(free_pages.read_free_pages)).returnable
    returned = await free_pages.give_back(db)
    assert returned > 400 * 4096
    assert db.path.stat().st_size <= before - returned
    assert (await db.read(free_pages.read_free_pages)).size == 0
    assert await free_pages.give_back(db) == 0
    await db.close()


async def test_an_older_one_stays_as_long_as_it_is_until_it_is_rewritten(tmp_path: Path) -> None:
    raw = sqlite.connect(tmp_path / "old.db")
    raw.execute("CREATE TABLE old (x)")
    raw.commit()
    raw.close()
    db = Database(tmp_path / "old.db", StorageSettings())
    await _fill_and_empty(db)
    before = db.path.stat().st_size
    assert await free_pages.give_back(db) == 0
    assert db.path.stat().st_size == before
    await free_pages.compact(db)
    assert db.path.stat().st_size < before / 10
    assert (await db.read(free_pages.read_free_pages)).returnable
    await db.write(lambda tx: tx.many("INSERT INTO t VALUES (:x)", [{"x": bytes(4000)}] * 100))
    await db.write(lambda tx: tx.run("DELETE FROM t"))
    assert await free_pages.give_back(db) > 0
    await db.close()

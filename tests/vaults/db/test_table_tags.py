"""The lists of tables come from the tags of the migrations, and leave none out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.db.table_tags import read_table_tags
from vaults.settings import StorageSettings

STEPS = len(load_migrations("vault"))
_NOT_TAGGED = {"schema_steps"}


@pytest.mark.parametrize("steps", [1, 6, STEPS])
def test_every_table_is_on_one_of_the_two_lists(tmp_path: Path, steps: int) -> None:
    async def read_tables() -> set[str]:
        db = Database(tmp_path / "vault.db", StorageSettings())
        try:
            await migrate(db, "vault", load_migrations("vault")[:steps])
            made = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
            return {str(name) for (name,) in await db.read(lambda tx: tx.all(made))}
        finally:
            await db.close()

    found = {name for name in asyncio.run(read_tables()) if not name.startswith("sqlite_")} - _NOT_TAGGED
    tags = read_table_tags("vault", steps)
    assert found == {*tags.canonical, *tags.derived}
    assert not set(tags.canonical) & set(tags.derived)


def test_memories_are_canonical_and_passages_are_derived() -> None:
    tags = read_table_tags("vault")
    assert {"memories", "documents", "note_versions", "audit"} <= set(tags.canonical)
    assert {"passages", "passages_fts", "embeddings", "notes"} <= set(tags.derived)
    assert "memory_tags" not in tags.derived, "it was dropped since"

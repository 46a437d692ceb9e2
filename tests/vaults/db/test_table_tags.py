"""Every table that the migrations make is on one of two lists: what is truth, and what can be built again."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.db.table_tags import canonical_tables, derived_tables
from vaults.settings import StorageSettings


@pytest.mark.parametrize("folder", ["vault", "control"])
async def test_each_table_is_on_one_list(tmp_path: Path, folder: str) -> None:
    db = Database(tmp_path / "a.db", StorageSettings())
    await migrate(db, folder)
    made = {
        name
        for (name, kind) in await db.read(lambda tx: tx.all("SELECT name, type FROM pragma_table_list"))
        if kind in ("table", "virtual") and not name.startswith("sqlite_")
    }
    await db.close()
    canonical, derived = set(canonical_tables(folder)), set(derived_tables(folder))
    assert not canonical & derived
    # ``schema_steps`` is what migrations themselves are recorded in.
    assert made - {"schema_steps"} >= canonical | derived
    shadows = {name for name in made if any(name.startswith(f"{table}_") for table in derived)}
    assert made - {"schema_steps"} - shadows <= canonical | derived


def test_truth_is_truth() -> None:
    assert {"memories", "note_changes", "sessions", "vault_info"} <= set(canonical_tables("vault"))
    assert {"passages", "passages_fts", "embeddings", "notes"} <= set(derived_tables("vault"))
    assert {"grants", "vaults", "tokens", "backups"} <= set(canonical_tables("control"))


def test_the_lists_are_those_of_the_steps_that_were_taken() -> None:
    assert "memory_tags" in derived_tables("vault", 1)
    assert "memory_tags" not in derived_tables("vault"), "it was dropped since"
    assert "evictions" not in canonical_tables("vault", 13)

"""The tables of control.db in PostgreSQL are those that its migrations lead to.

Covers vaults.cluster.postgres.schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.table_shape import expected_shape
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.db.sql import Reader
from vaults.settings import StorageSettings

Column: TypeAlias = tuple[str, str, bool, str | None]
"""Name, type, whether it must hold something, default."""

TYPES = {"text": "TEXT", "bigint": "INTEGER", "double precision": "REAL", "bytea": "BLOB"}
OF_POSTGRES_ALONE = {"control_version", "installation_files"}

COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable = 'NO', replace(column_default, '::text', '')
FROM information_schema.columns WHERE table_schema = 'strongroom_control' ORDER BY table_name, ordinal_position
"""

KEYS = """
SELECT c.relname, k.contype::text, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE c.relnamespace = 'strongroom_control'::regnamespace AND k.contype IN ('p', 'u', 'f')
"""

INDEXES = """
SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
WHERE i.relnamespace = 'strongroom_control'::regnamespace AND NOT x.indisunique
"""


def columns_of_file(tx: Reader) -> dict[str, list[Column]]:
    tables = tx.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('schema_steps')")
    return {name: [_column(row) for row in tx.all(f"PRAGMA table_info({name})")] for (name,) in tables}


def _column(row: tuple[object, ...]) -> Column:
    _, name, kind, is_needed, default, is_key = row
    return str(name), str(kind), bool(is_needed or is_key), None if default is None else str(default)


def keys_of_file(tx: Reader) -> set[tuple[str, str, str]]:
    found = set()
    for (table,) in tx.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_steps'"):
        key = sorted((place, name) for _, name, *_, place in tx.all(f"PRAGMA table_info({table})") if place)
        found.add((table, "p", f"PRIMARY KEY ({', '.join(name for _, name in key)})"))
        for _, index, is_unique, origin, _ in tx.all(f"PRAGMA index_list({table})"):
            if is_unique and origin == "u":
                names = ", ".join(name for _, _, name in tx.all(f"PRAGMA index_info({index})"))
                found.add((table, "u", f"UNIQUE ({names})"))
        for _, _, other, own, theirs, _, on_delete, _ in tx.all(f"PRAGMA foreign_key_list({table})"):
            found.add((table, "f", f"FOREIGN KEY ({own}) REFERENCES {other}({theirs}) ON DELETE {on_delete}"))
    return found


async def test_every_migration_of_control_db_was_made_here_too(connections: Connections, tmp_path: Path) -> None:
    db = Database(tmp_path / "control.db", StorageSettings())
    await migrate(db, "control")
    columns, keys = await db.read(columns_of_file), await db.read(keys_of_file)
    indexes = await db.read(
        lambda tx: {name for (name,) in tx.all("SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL")}
    )
    await db.close()
    with connections.use() as connection:
        made: dict[str, list[Column]] = {}
        for table, name, kind, is_needed, default in connection.execute(COLUMNS):
            if table not in OF_POSTGRES_ALONE:
                made.setdefault(table, []).append((name, TYPES[kind], is_needed, default))
        assert made == columns
        found = {row for row in connection.execute(KEYS) if row[0] not in OF_POSTGRES_ALONE}
        assert found == keys
        assert {name for (name,) in connection.execute(INDEXES)} == indexes


def test_every_text_is_compared_byte_by_byte() -> None:
    for line in expected_shape("strongroom_control"):
        if " text" in line.split(":")[0]:
            assert 'collate "C"' in line

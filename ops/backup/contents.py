"""What a database holds, in numbers that two copies of it can be compared by."""

from __future__ import annotations

import hashlib

from ops.backup.manifest import BackupManifest
from vaults.db.sql import Reader
from vaults.db.table_tags import canonical_tables


def count_rows(tx: Reader, kind: str) -> dict[str, int]:
    """Rows of each canonical table that the database has. ``kind``: vault or control."""
    return {table: int(tx.value(f"SELECT COUNT(*) FROM {table}")) for table in _present(tx, kind)}


def digest_ids(tx: Reader, kind: str) -> str:
    """SHA-256 over the ids of all canonical rows that have one, by table and in order."""
    digest = hashlib.sha256()
    for table in _present(tx, kind):
        if not any(row[1] == "id" for row in tx.all(f"PRAGMA table_info({table})")):
            continue
        digest.update(f"{table}\n".encode())
        sql = f"SELECT id FROM {table} {{}} ORDER BY id LIMIT {_PAGE}"
        ids = tx.all(sql.format(""))
        while ids:
            digest.update("".join(f"{each}\n" for (each,) in ids).encode())
            # With an OR for the first page SQLite would walk all the pages before each.
            ids = tx.all(sql.format("WHERE id > :after"), {"after": ids[-1][0]})
    return digest.hexdigest()


_PAGE = 5000
"""Ids read at a time."""


def differs(tx: Reader, manifest: BackupManifest) -> list[str]:
    """The tables of which another number of rows is there than the manifest says, and ``ids`` where these differ."""
    counts = count_rows(tx, manifest.kind)
    found = [table for table, count in manifest.counts.items() if counts.get(table) != count]
    return found + (["ids"] if digest_ids(tx, manifest.kind) != manifest.ids_digest else [])


def schema_steps(tx: Reader) -> int:
    """How many migrations the database has had."""
    return int(tx.value("SELECT COUNT(*) FROM schema_steps"))


def _present(tx: Reader, kind: str) -> list[str]:
    there = {name for (name,) in tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return [table for table in canonical_tables(kind) if table in there]

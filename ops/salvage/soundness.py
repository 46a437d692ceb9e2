"""Whether there is anything to salvage: a sound database passes SQLite's check, can be read to the last row, and holds
what its hashes say."""

from __future__ import annotations

from contextlib import closing
from urllib.parse import quote

from ops.salvage.content_proof import is_as_hashed
from ops.salvage.exchange import DamagedFiles
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader
from vaults.db.trusted_frames import read_trusted
from vaults.errors import VaultQuarantined, VaultUnavailable


def is_sound(files: DamagedFiles) -> bool:
    """Whether a database is as it should be. The log is looked at first: SQLite drops what it cannot read of it.
    Blocking."""
    if not files.database.exists() or (files.has_log and read_trusted(files.log.read_bytes()).damaged):
        return False
    # Read-only, so that closing it moves nothing of the log into a file that may be damaged.
    target = f"file:{quote(str(files.database))}?mode=ro"
    try:
        with translate_sqlite_errors(), closing(sqlite.connect(target, uri=True)) as raw:
            tables = [
                str(name)
                for (name,) in raw.execute(
                    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
                )
            ]
            if not tables or raw.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                return False
            for table in tables:  # a text that is none shows only when it is read
                for _ in raw.execute(f'SELECT * FROM "{table}"'):
                    pass
            return is_as_hashed(Reader(raw))
    except (VaultQuarantined, VaultUnavailable):
        return False

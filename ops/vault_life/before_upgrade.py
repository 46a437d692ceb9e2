"""A copy of a vault's database as the version before left it, beside it: the way back, should the new one not do.

It holds what the database held, also what is purged later; the next upgrade, and deleting the vault, overwrite it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import quote

from ops.vault_life.erasure import erase_file
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.files.atomic import sync_folder
from vaults.files.permissions import make_private_file

PAGES = 4096
"""Pages a step copies: of a vault that others write to the source is free between two."""


async def keep_copy(db: Database, schema: int) -> Path:
    """Copy the database of ``schema`` steps to ``<name>.before-<schema>`` beside it, unless there is one, and remove
    older ones. Raises ``StorageFull``, ``ReadOnly``, ``VaultQuarantined``."""
    return await asyncio.to_thread(_keep_copy, db.path, schema)


def copies_of(database: Path) -> list[Path]:
    """The copies beside a database."""
    return sorted(database.parent.glob(f"{database.name}.before-*[0-9]"))


def _keep_copy(database: Path, schema: int) -> Path:
    kept = database.with_name(f"{database.name}.before-{schema}")
    if not kept.exists():  # another process was faster, or was killed after it had copied
        partial = kept.with_name(f"{kept.name}.{os.getpid()}.partial")
        try:
            _copy(database, partial)
            if _schema_of(partial) == schema:  # else another process has begun, from a copy it made itself
                partial.replace(kept)
                sync_folder(kept.parent)
        finally:
            partial.unlink(missing_ok=True)
    for old in database.parent.glob(f"{database.name}.before-*"):
        if old != kept:
            erase_file(old)
    return kept


def _copy(database: Path, to: Path) -> None:
    make_private_file(to)
    with translate_sqlite_errors():
        source = sqlite.connect(f"file:{quote(str(database))}?mode=ro", uri=True)
        target = sqlite.connect(to)
        try:
            source.execute("BEGIN")
            source.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # one moment for all steps
            source.backup(target, pages=PAGES, sleep=0)
            source.rollback()
            target.execute("PRAGMA journal_mode=DELETE").fetchone()
        finally:
            target.close()
            source.close()
    descriptor = os.open(to, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _schema_of(database: Path) -> int:
    with translate_sqlite_errors():
        raw = sqlite.connect(database)
        try:
            return int(raw.execute("SELECT COUNT(*) FROM schema_steps").fetchone()[0])
        finally:
            raw.close()

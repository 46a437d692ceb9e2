"""Databases with every table and nothing in them, made once per process: to make one takes as long as half a test."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ops.audit.chain import file_of
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Writer
from vaults.registry import folder_of
from vaults.settings import StorageSettings
from vaults.vault import DATABASE_FILE

CONTROL = "control.db"


def lay_out(data: Path, vaults: Iterable[str]) -> None:
    """Put them where a server finds them, unless there are some. Opened, they get ids of their own like any new one."""
    _place(data / CONTROL, "control")
    for name in vaults:
        _place(folder_of(data, name, None) / DATABASE_FILE, "vault")


def lay_out_audit(data: Path, chains: Iterable[str]) -> None:
    """The same for chains of the audit."""
    for name in chains:
        _place(file_of(data, name), "audit")


def _place(path: Path, kind: str) -> None:
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(blank_database(kind))


@cache
def blank_database(kind: str) -> bytes:
    folder = Path(tempfile.mkdtemp())

    async def make() -> None:
        database = Database(folder / "blank.db", StorageSettings())
        await migrate(database, kind)
        await database.close()

    try:
        # A loop of its own, on a thread of its own: the test's is running.
        maker = threading.Thread(target=lambda: asyncio.run(make()))
        maker.start()
        maker.join()
        return (folder / "blank.db").read_bytes()
    finally:
        shutil.rmtree(folder)


def empty_tables() -> Writer:
    """Every table of a vault, empty, in memory; outside of a transaction."""
    raw = sqlite.connect(":memory:", isolation_level=None)
    _migrated().backup(raw)
    raw.execute("PRAGMA foreign_keys=ON")
    return Writer(raw)


@cache
def _migrated() -> sqlite.Connection:
    raw = sqlite.connect(":memory:", isolation_level=None)
    for step in load_migrations("vault"):
        raw.executescript(step.sql)
    return raw

"""Numbered SQL files applied in order; each step and its record commit together.

``schema_steps`` in the database says what was applied. A database that records a step this code does not have is
from the future and is refused before anything is written. Opening a current database writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader
from vaults.errors import StrongroomError, VaultQuarantined
from vaults.settings import StorageSettings

_NAME = re.compile(r"^(\d{4})_[a-z0-9_]+\.sql$")


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """One migration file: ``number`` orders, ``name`` is recorded, ``sql`` may hold several statements."""

    number: int
    name: str
    sql: str


@cache
def load_migrations(folder: str) -> tuple[MigrationStep, ...]:
    """The migrations of ``folder`` (``vault`` or ``control``), in order."""
    return read_steps(files("vaults.db") / "migrations" / folder)


def read_steps(folder: Traversable, first: int = 1) -> tuple[MigrationStep, ...]:
    """The files of ``folder`` that are named as steps, in order. A gap or a double number is a bug."""
    found = []
    for entry in folder.iterdir():
        if match := _NAME.match(entry.name):
            found.append(MigrationStep(int(match.group(1)), entry.name, entry.read_text(encoding="utf-8")))
    found.sort(key=lambda step: step.number)
    if [step.number for step in found] != list(range(first, first + len(found))):
        raise RuntimeError(f"the steps in {folder.name} are not numbered {first}, {first + 1}, {first + 2} …")
    return tuple(found)


async def migrate(
    db: Database,
    folder: str,
    known: tuple[MigrationStep, ...] | None = None,
    *,
    before: Callable[[int], Awaitable[object]] | None = None,
) -> int:
    """Bring ``db`` up to date; returns how many steps were applied. ``before`` is awaited with the number of steps that
    an older version made, before more are; what it raises leaves the database as it is. Raises ``VaultQuarantined``
    (reason ``future`` or ``foreign``) for a database that is not one this version may touch."""
    chain = load_migrations(folder) if known is None else known
    # Reading alone shows that a database is current, so one that can only be read opens too.
    if db.path.exists():
        pending = await db.read(lambda tx: _pending_migrations(tx, folder, chain))
        if not pending:
            return 0
        done = len(chain) - len(pending)
        if done and before is not None:
            await before(done)
    return await db.run_on_writer(lambda raw: _apply(raw, folder, chain))


def refuse_newer(path: Path, folder: str, settings: StorageSettings) -> None:
    """Raise ``VaultQuarantined`` (reason ``future``) for a database a newer version wrote; one that is missing or
    cannot be read is for whoever opens it. Blocking; nothing is written."""
    if not path.exists():
        return
    try:
        with translate_sqlite_errors(), closing(open_raw(path, settings, writer=False)) as raw:
            _pending_migrations(Reader(raw), folder, load_migrations(folder))
    except StrongroomError as failure:
        if failure.details.get("reason") == "future":
            raise


async def migrate_to_write(db: Database, folder: str) -> int:
    """``migrate`` for a database that is opened because something is to be written: it opens no reader."""
    chain = load_migrations(folder)
    return await db.run_on_writer(lambda raw: _apply(raw, folder, chain))


def _apply(raw: sqlite.Connection, folder: str, chain: tuple[MigrationStep, ...]) -> int:
    missing = _pending_migrations(Reader(raw), folder, chain)
    for step in missing:
        _apply_one(raw, folder, step)
    return len(missing)


def _pending_migrations(tx: Reader, folder: str, chain: tuple[MigrationStep, ...]) -> tuple[MigrationStep, ...]:
    done = _recorded_number(tx, folder)
    if done > len(chain):
        raise VaultQuarantined(
            f"the database was written by a newer strongroom (schema {done}, this one knows {len(chain)})",
            hint="upgrade the server",
            reason="future",
        )
    return chain[done:]


def _recorded_number(tx: Reader, folder: str) -> int:
    tables = {name for (name,) in tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    if "schema_steps" not in tables:
        raise VaultQuarantined("the database is not a strongroom vault", reason="foreign")
    folders = [name for (name,) in tx.all("SELECT folder FROM schema_steps")]
    if any(name != folder for name in folders):
        raise VaultQuarantined("the database is another kind of strongroom file", reason="foreign")
    return len(folders)


def _apply_one(raw: sqlite.Connection, folder: str, step: MigrationStep) -> None:
    raw.execute("BEGIN IMMEDIATE")
    try:
        if _recorded_number(Reader(raw), folder) < step.number:  # another process may have been faster
            raw.execute(
                "CREATE TABLE IF NOT EXISTS schema_steps (number INTEGER PRIMARY KEY, folder TEXT NOT NULL,"
                " name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
            )
            for statement in _split_statements(step.sql):
                raw.execute(statement)
            raw.execute(
                "INSERT INTO schema_steps VALUES (:number, :folder, :name, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
                {"number": step.number, "folder": folder, "name": step.name},
            )
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def _split_statements(script: str) -> list[str]:
    """Split a script; ``executescript`` would commit the transaction the step runs in."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite.complete_statement(current):
            found.append(current)
            current = ""
    return found

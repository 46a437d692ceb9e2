"""Whether a vault's database may be opened: checks before SQLite opens it, and checks by its first statements."""

from __future__ import annotations

from pathlib import Path

from vaults.db import integrity
from vaults.db.failures import damaged_error
from vaults.db.sql import Reader
from vaults.errors import VaultQuarantined
from vaults.settings import StorageSettings

DAMAGE_MARKER = ".damaged"
"""File next to a damaged database; it holds the name of the damaged part."""


def file_identity(path: Path, name: str) -> tuple[int, int]:
    """Device and inode of the database. Raises ``VaultQuarantined`` if it is missing or empty."""
    if not path.is_file():
        raise VaultQuarantined(f"the files of vault {name} are missing", hint="restore a backup", reason="missing")
    found = path.stat()
    if found.st_size == 0:  # SQLite would throw away a WAL that may hold everything
        raise damaged_error()
    return found.st_dev, found.st_ino


def is_marked_damaged(path: Path) -> bool:
    """Whether any process found damage in this database."""
    return path.with_name(DAMAGE_MARKER).exists()


def recheck_damage(path: Path, settings: StorageSettings) -> None:
    """Check again the part that was damaged; remove the marker if it is whole now, else raise ``VaultQuarantined``.
    Blocking."""
    marker = path.with_name(DAMAGE_MARKER)
    if integrity.is_damaged(path, settings, marker.read_text(encoding="utf-8")):
        raise damaged_error()
    marker.unlink(missing_ok=True)


def is_left_open(path: Path) -> bool:
    """Whether the last process to use the database did not close it: SQLite removes the WAL on a clean close."""
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0


def refuse_damaged(tx: Reader) -> None:
    """A first, short check. Raises ``VaultQuarantined``."""
    # A registered vault was never without tables; migrating would lay a new, empty one over what was lost.
    if tx.one("SELECT 1 FROM sqlite_master LIMIT 1") is None or integrity.has_obvious_damage(tx):
        raise damaged_error()


def quick_check(raw: object) -> None:
    """Check the whole file, after a crash. Raises ``VaultQuarantined``."""
    found = raw.execute("PRAGMA quick_check(1)").fetchone()  # type: ignore[attr-defined]
    if found[0] != "ok":
        raise damaged_error()

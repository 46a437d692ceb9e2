"""How backups went: the table ``backups`` of control.db, of each vault the newest."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from vaults.db.sql import Reader, Writer

KEPT = 100
"""Runs kept of each vault; the last good one stays in any case."""


@dataclass(frozen=True, slots=True)
class BackupRun:
    """One run. ``vault_id`` is empty for the installation itself; ``size``: bytes of what was backed up; ``moved``:
    bytes written; ``target``: an archive's path, or a snapshot's name in its store; ``outcome``: ok, or a code."""

    vault_id: str
    vault: str
    began_at: str
    seconds: float
    size: int
    moved: int
    target: str
    position: int
    outcome: str


_COLUMNS = "vault_id, vault, began_at, seconds, size, moved, target, position, outcome"


def record(tx: Writer, run: BackupRun) -> None:
    """Add a run and forget the oldest beyond ``KEPT``."""
    values = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
    tx.run(f"INSERT INTO backups ({_COLUMNS}) VALUES ({values})", asdict(run))
    tx.run(
        "DELETE FROM backups WHERE vault_id = :vault_id AND number NOT IN"
        " (SELECT number FROM backups WHERE vault_id = :vault_id ORDER BY number DESC LIMIT :kept)"
        " AND number <> COALESCE((SELECT MAX(number) FROM backups WHERE vault_id = :vault_id AND outcome = 'ok'), 0)",
        {"vault_id": run.vault_id, "kept": KEPT},
    )


def newest(tx: Reader, vault_id: str) -> BackupRun | None:
    """The last good run of a vault."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :vault_id AND outcome = 'ok' ORDER BY number DESC LIMIT 1",
        {"vault_id": vault_id},
    )
    return BackupRun(*row) if row else None


def list_runs(tx: Reader, vault_id: str, limit: int = KEPT) -> list[BackupRun]:
    """Runs of a vault, newest first."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :vault_id ORDER BY number DESC LIMIT :limit",
        {"vault_id": vault_id, "limit": limit},
    )
    return [BackupRun(*row) for row in rows]

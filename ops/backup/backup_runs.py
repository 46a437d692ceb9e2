"""How backups went: the table ``backups`` of control.db."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from vaults.db.sql import Reader, Writer

KEPT = 100


@dataclass(frozen=True, slots=True)
class BackupRun:
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
    values = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
    tx.run(f"INSERT INTO backups ({_COLUMNS}) VALUES ({values})", asdict(run))


def newest(tx: Reader, vault_id: str) -> BackupRun | None:
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :v AND outcome = 'ok' ORDER BY number DESC LIMIT 1",
        {"v": vault_id},
    )
    return BackupRun(*rows[0]) if rows else None


def list_runs(tx: Reader, vault_id: str, limit: int = KEPT) -> list[BackupRun]:
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :v ORDER BY number DESC LIMIT :l",
        {"v": vault_id, "l": limit},
    )
    return [BackupRun(*row) for row in rows]

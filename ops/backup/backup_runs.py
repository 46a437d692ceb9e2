"""How backups went: the table ``backups`` of control.db."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from vaults.db.sql import Reader, Writer

KEPT = 100
"""Runs kept of a vault; the last good one of each target stays besides, however many failed since."""

CONTROL = ""
"""The vault id that stands for control.db and the keys."""

_COLUMNS = "vault_id, vault, began_at, seconds, size, moved, target, position, outcome"


@dataclass(frozen=True, slots=True)
class BackupRun:
    """One backup that was made or tried. ``size``: bytes of what was backed up; ``moved``: written to the target;
    ``target``: an archive's path, or a snapshot's name in its store; ``position``: the vault's highest change number;
    ``outcome``: ``ok``, or the code of what failed."""

    vault_id: str
    vault: str
    began_at: str
    seconds: float
    size: int
    moved: int
    target: str
    position: int
    outcome: str

    @property
    def is_good(self) -> bool:
        return self.outcome == "ok"


def record(tx: Writer, run: BackupRun) -> None:
    """Write a run down, and forget those that are long ago."""
    values = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
    tx.run(f"INSERT INTO backups ({_COLUMNS}) VALUES ({values})", asdict(run))
    tx.run(
        "DELETE FROM backups WHERE vault_id = :vault_id"
        " AND number NOT IN (SELECT number FROM backups WHERE vault_id = :vault_id ORDER BY number DESC LIMIT :kept)"
        # The last good one of each target: how old the newest backup there is must not be forgotten.
        " AND number NOT IN (SELECT MAX(number) FROM backups WHERE vault_id = :vault_id AND outcome = 'ok'"
        " GROUP BY RTRIM(target, REPLACE(target, '/', '')))",
        {"vault_id": run.vault_id, "kept": KEPT},
    )


def newest(tx: Reader, vault_id: str) -> BackupRun | None:
    """The last good backup of a vault, whatever its time says."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :vault_id AND outcome = 'ok' ORDER BY number DESC LIMIT 1",
        {"vault_id": vault_id},
    )
    return BackupRun(*row) if row else None


def newest_at(tx: Reader, vault_id: str, place: str) -> BackupRun | None:
    """The last good backup of a vault that went to this folder or bucket by the schedule. One that somebody made
    elsewhere puts nothing off."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :vault_id AND outcome = 'ok'"
        " AND SUBSTR(target, 1, LENGTH(:prefix)) = :prefix ORDER BY number DESC LIMIT 1",
        {"vault_id": vault_id, "prefix": f"{place}/{'vaults/' if vault_id else 'control/'}"},
    )
    return BackupRun(*row) if row else None


def list_archives(tx: Reader, vault_id: str) -> tuple[Path, ...]:
    """The archives of a vault that were written anywhere, newest first; whether they are still there is not known."""
    rows = tx.all(
        "SELECT target FROM backups WHERE vault_id = :vault_id AND outcome = 'ok' AND target LIKE '/%.tar.zst%'"
        " GROUP BY target ORDER BY MAX(number) DESC",
        {"vault_id": vault_id},
    )
    return tuple(Path(target) for (target,) in rows)


def list_ids(tx: Reader) -> dict[str, str]:
    """The id of everything of which there is a run, and what it was called last."""
    rows = tx.all("SELECT vault_id, vault FROM backups ORDER BY number")
    return {str(vault_id): str(vault) for vault_id, vault in rows}


def list_runs(tx: Reader, vault_id: str, limit: int = 2 * KEPT) -> list[BackupRun]:
    """The runs of a vault, newest first, also those that failed."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM backups WHERE vault_id = :vault_id ORDER BY number DESC LIMIT :limit",
        {"vault_id": vault_id, "limit": limit},
    )
    return [BackupRun(*row) for row in rows]

"""Checks of backups: whether each vault has one that is young enough, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ops.backup.backup_runs import BackupRun
from ops.backup.due import BackupStanding
from ops.doctor.check import DoctorCheck
from ops.settings import BackupSettings
from vaults.durations import format_duration

OLD_AFTER = 2
"""Intervals without a good backup from which on it is a warning, and an alert."""

_TODO = "look at what failed: strongroom backup list; and in the log for backup_failed"


@dataclass(frozen=True, slots=True)
class VaultBackups:
    """A vault's last good backup, and the last one that was tried."""

    standing: BackupStanding
    tried: BackupRun | None


def age(vaults: Sequence[VaultBackups], settings: BackupSettings, now: datetime) -> DoctorCheck:
    """Whether every vault has a backup that is not older than it should be."""
    without = [each for each in vaults if each.standing.last is None]
    if not settings.is_scheduled:
        missing = f"; {len(without):,} of {len(vaults):,} vaults have none" if without else ""
        todo = "set backup.every and backup.to, or see to it that something runs: strongroom backup"
        return DoctorCheck("backups", "notice", f"no backups are scheduled{missing}", todo)
    most = OLD_AFTER * settings.every_s
    old = [each for each in vaults if each.standing.age_s(now) > most]
    if old:
        message = f"{len(old):,} vaults have no good backup of the last {format_duration(most)}"
        return DoctorCheck("backups", "warning", message, _TODO, [_describe(each) for each in old])
    if without:
        message = f"{len(without):,} vaults have no backup yet"
        return DoctorCheck("backups", "notice", message, "a running server makes them")
    return DoctorCheck("backups", "ok", f"every vault has a good backup of the last {format_duration(most)}")


def target(settings: BackupSettings, data: Path) -> DoctorCheck:
    """Whether the folder of backups is there, and not on the disk that it is to outlive. A bucket is not asked."""
    name, to = "backup_target", settings.to
    if to is None:
        return DoctorCheck(name, "ok", "no place for backups is set")
    if not to.startswith("/"):
        return DoctorCheck(name, "ok", f"backups go to {to}")
    folder = Path(to)
    if not folder.is_dir():
        todo = "mount it, or make it, or mend backup.to"
        return DoctorCheck(name, "error", f"backups cannot be made: {to} is not there", todo)
    if data.exists() and folder.stat().st_dev == data.stat().st_dev:
        todo = "set backup.to to another disk, or a bucket"
        return DoctorCheck(name, "notice", f"backups in {to} are on the disk of the data and are lost with it", todo)
    return DoctorCheck(name, "ok", f"backups go to {to}")


def _describe(vault: VaultBackups) -> str:
    last, tried = vault.standing.last, vault.tried
    said = f"the last is of {last.began_at}" if last else "there is none"
    failed = f"; failed at {tried.began_at}: {tried.outcome}" if tried and tried.outcome != "ok" else ""
    return f"{vault.standing.entry.name}: {said}{failed}"

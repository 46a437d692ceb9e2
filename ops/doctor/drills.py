"""Checks of drills: whether the newest backup of each vault was proven lately, where the settings ask for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ops.backup.drill_records import BEGUN, NO_BACKUP, PASSED, DrillRecord
from ops.doctor.check import DoctorCheck
from ops.settings import BackupSettings
from vaults.durations import format_duration

NAME = "drills"

OVERDUE = 2
"""Intervals without a drill that passed from which on it is a warning, and an alert."""


@dataclass(frozen=True, slots=True)
class VaultDrills:
    """How drills of a vault went; None: none was held."""

    vault: str
    record: DrillRecord | None

    @property
    def has_failed(self) -> bool:
        """Whether the last one did not pass. A vault without any backup is the concern of backups."""
        return self.record is not None and self.record.outcome not in (PASSED, BEGUN, NO_BACKUP)

    def is_overdue(self, most_s: float, now: datetime) -> bool:
        """Whether none has passed for ``most_s`` seconds, since drills were first due."""
        if self.record is None or self.record.outcome == NO_BACKUP:
            return False
        proven = datetime.fromisoformat(self.record.passed or self.record.since)
        return (now - proven).total_seconds() > most_s


def drills(vaults: Sequence[VaultDrills], settings: BackupSettings, now: datetime | None = None) -> DoctorCheck:
    """Whether the last drill of each vault passed, and not too long ago."""
    if settings.drill_every is None:
        if not settings.is_scheduled:
            return DoctorCheck(NAME, "ok", "no drills are scheduled")
        return DoctorCheck(NAME, "notice", "nobody proves that backups can be restored", "set backup.drill_every")
    if failed := [each for each in vaults if each.has_failed]:
        message = f"the last drill of {len(failed):,} vaults did not pass"
        todo = "see why: strongroom backup verify latest --vault V; and in the log for backup_drill"
        return DoctorCheck(NAME, "warning", message, todo, [_describe(each) for each in failed])
    most_s = OVERDUE * settings.drill_every_s
    if late := [each for each in vaults if each.is_overdue(most_s, now or datetime.now(UTC))]:
        message = f"no drill of {len(late):,} vaults has passed for {format_duration(most_s)}"
        todo = "a running server holds them; strongroom backup verify latest --vault V holds one now"
        return DoctorCheck(NAME, "warning", message, todo, [_describe(each) for each in late])
    if new := [each for each in vaults if each.record is None]:
        return DoctorCheck(NAME, "notice", f"{len(new):,} vaults had no drill yet", "a running server holds them")
    return DoctorCheck(NAME, "ok", f"every backup was proven in the last {format_duration(most_s)}")


def _describe(each: VaultDrills) -> str:
    if (record := each.record) is None:
        return f"{each.vault}: none was held"
    passed = f"the last that passed is of {record.passed}" if record.passed else "none has passed"
    return f"{each.vault}: {record.outcome} at {record.tried}; {passed}"

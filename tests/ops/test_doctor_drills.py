"""What the doctor says of drills.

Covers ops.doctor.drills.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ops.backup.drill_records import DrillRecord
from ops.doctor.drills import VaultDrills, drills
from ops.settings import BackupSettings
from vaults import clock

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
DAILY = BackupSettings(every="1d", to="/backups")
DRILLED = BackupSettings(every="1d", to="/backups", drill_every="7d")


def ago(days: float) -> str:
    return clock.to_text(NOW - timedelta(days=days))


def record(outcome: str = "ok", *, passed: float | None = 1, since: float = 99) -> VaultDrills:
    at = None if passed is None else ago(passed)
    return VaultDrills("main", DrillRecord(since=ago(since), tried=ago(0.5), outcome=outcome, passed=at))


@pytest.mark.parametrize(
    ("vaults", "settings", "status"),
    [
        ([record()], DRILLED, "ok"),
        ([record(passed=13.9)], DRILLED, "ok"),
        ([record(passed=14.1)], DRILLED, "warning"),
        ([record("begun", passed=None)], DRILLED, "warning"),
        ([record("begun", passed=None, since=1)], DRILLED, "ok"),
        ([record("failed")], DRILLED, "warning"),
        ([record(), record("vault_unavailable")], DRILLED, "warning"),
        ([record("no_backup", passed=99)], DRILLED, "ok"),
        ([VaultDrills("main", None)], DRILLED, "notice"),
        ([], DRILLED, "ok"),
        ([], DAILY, "notice"),
        ([], BackupSettings(), "ok"),
    ],
)
def test_a_drill_that_failed_or_is_overdue_is_a_warning(
    vaults: list[VaultDrills], settings: BackupSettings, status: str
) -> None:
    assert drills(vaults, settings, NOW).status == status


def test_the_last_drill_and_the_last_that_passed_are_named() -> None:
    assert drills([record("failed", passed=3)], DRILLED, NOW).details == [
        "main: failed at 2026-11-25T00:00:00.000Z; the last that passed is of 2026-11-22T12:00:00.000Z"
    ]

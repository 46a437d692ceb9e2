"""What the doctor says of backups.

Covers ops.doctor.backups.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ops.backup.backup_runs import BackupRun
from ops.backup.due import BackupStanding
from ops.doctor.backups import VaultBackups, age, target
from ops.settings import BackupSettings
from vaults import clock
from vaults.registry import VaultEntry

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
DAILY = BackupSettings(every="1d", to="/backups")


def run(days: float, outcome: str = "ok") -> BackupRun:
    return BackupRun("id", "main", clock.to_text(NOW - timedelta(days=days)), 1.0, 10, 10, "t", 1, outcome)


def vault(last: BackupRun | None, tried: BackupRun | None = None, made: float = 99) -> VaultBackups:
    entry = VaultEntry("main", "id", None, "active", "agent", "auto", clock.to_text(NOW - timedelta(days=made)))
    return VaultBackups(BackupStanding(entry, last), tried or last)


@pytest.mark.parametrize(
    ("vaults", "settings", "status"),
    [
        ([vault(run(0.5))], DAILY, "ok"),
        ([vault(run(1.9))], DAILY, "ok"),
        ([vault(run(2.1))], DAILY, "warning"),
        ([vault(run(0.5)), vault(run(3))], DAILY, "warning"),
        ([vault(None)], DAILY, "warning"),
        ([vault(None, made=0.1)], DAILY, "notice"),
        ([vault(None)], BackupSettings(), "notice"),
        ([vault(run(99))], BackupSettings(), "notice"),
        ([], DAILY, "ok"),
    ],
)
def test_a_backup_older_than_two_intervals_is_a_warning(
    vaults: list[VaultBackups], settings: BackupSettings, status: str
) -> None:
    assert age(vaults, settings, NOW).status == status


def test_the_last_failure_is_named() -> None:
    found = age([vault(run(5), run(0.1, "storage_full"))], DAILY, NOW)
    assert found.details == [
        "main: the last is of 2026-11-20T12:00:00.000Z; failed at 2026-11-25T09:36:00.000Z: storage_full"
    ]


def test_a_target_that_is_gone_is_an_error_and_one_on_the_same_disk_is_worth_knowing(tmp_path: Path) -> None:
    there, data = tmp_path / "there", tmp_path / "data"
    there.mkdir()
    data.mkdir()
    assert target(BackupSettings(to=str(tmp_path / "none")), data).status == "error"
    assert target(BackupSettings(to=str(there)), data).status == "notice"
    assert target(BackupSettings(), data).status == "ok"
    bucket = BackupSettings(to="s3://bucket/x", access_key="k", secret_key="s")
    assert target(bucket, data).message == "backups go to s3://bucket/x"

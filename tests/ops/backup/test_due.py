"""When a vault is due, also after somebody turned the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ops.backup.backup_runs import BackupRun
from ops.backup.due import RETRY_S, BackupStanding, choose_due, is_due, wait_after
from vaults import clock
from vaults.registry import VaultEntry

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
DAY = 86_400.0


def standing(name: str, ago: timedelta | None, made: timedelta = timedelta(days=99)) -> BackupStanding:
    entry = VaultEntry(name, f"id-{name}", None, "active", "agent", "auto", clock.to_text(NOW - made))
    run = None
    if ago is not None:
        run = BackupRun(entry.vault_id, name, clock.to_text(NOW - ago), 1.0, 10, 10, "t", 1, "ok")
    return BackupStanding(entry, run)


def test_what_has_no_backup_comes_first_then_what_waits_longest() -> None:
    all_of_them = [
        standing("fresh", timedelta(hours=1)),
        standing("old", timedelta(days=2)),
        standing("older", timedelta(days=3)),
        standing("new", None, timedelta(minutes=1)),
    ]
    assert [each.name for each in choose_due(all_of_them, DAY, NOW)] == ["new", "older", "old"]


def test_a_backup_from_the_future_puts_nothing_off() -> None:
    assert is_due(standing("a", timedelta(days=-30)).last, DAY, NOW)
    assert standing("a", timedelta(days=-30)).age_s(NOW) == 0
    assert not is_due(standing("a", timedelta(seconds=-30)).last, DAY, NOW)


def test_a_vault_without_a_backup_is_as_old_as_it_is() -> None:
    assert standing("a", None, timedelta(hours=2)).age_s(NOW) == 7200


def test_failures_are_tried_again_ever_later_and_no_later_than_the_interval() -> None:
    waits = [wait_after(failures, DAY) for failures in (1, 2, 3, 50)]
    assert waits == [RETRY_S, 2 * RETRY_S, 4 * RETRY_S, DAY]
    assert wait_after(1, 60) == 60

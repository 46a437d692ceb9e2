"""What is to be backed up now, and how old the last good backup of each vault is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ops.backup.backup_runs import BackupRun
from vaults.registry import VaultEntry

SLACK = timedelta(minutes=1)
"""A backup that is further in the future than this was made before somebody set the clock back."""

RETRY_S = 300.0
"""Seconds until a backup that failed is tried again; twice as long after each further failure, ``backup.every`` at
most."""


@dataclass(frozen=True, slots=True)
class BackupStanding:
    """A vault and its last good backup; ``last`` None: there is none."""

    entry: VaultEntry
    last: BackupRun | None

    def age_s(self, now: datetime) -> float:
        """Seconds since the last good backup; of a vault that has none, since it was made. That of an archived vault
        grows no older."""
        if self.last is not None and self.entry.state == "archived":
            return 0.0
        since = datetime.fromisoformat(self.last.began_at if self.last else self.entry.created_at)
        return max(0.0, (now - since).total_seconds())


def is_due(last: BackupRun | None, every_s: float, now: datetime) -> bool:
    """Whether a backup is to be made. One from the future says nothing of when the next is due."""
    if last is None:
        return True
    began = datetime.fromisoformat(last.began_at)
    return (now - began).total_seconds() >= every_s or began > now + SLACK


def choose_due(standings: Iterable[BackupStanding], every_s: float, now: datetime) -> list[VaultEntry]:
    """The vaults that are due: those without any backup first, then those that wait longest."""
    due = [each for each in standings if is_due(each.last, every_s, now)]
    return [each.entry for each in sorted(due, key=lambda each: (each.last is not None, -each.age_s(now)))]


def wait_after(failures: int, every_s: float) -> float:
    """Seconds until the next try after so many failures in a row."""
    return min(RETRY_S * (1 << min(failures - 1, 20)), every_s)

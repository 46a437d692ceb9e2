"""Who learns how a scheduled backup went: the table of runs, the log and the metrics; and when it is tried again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from ops.backup import backup_runs
from ops.backup.backup_runs import BackupRun
from ops.backup.due import wait_after
from vaults.db.transactions import Transactions
from vaults.errors import StrongroomError

log = structlog.get_logger("ops.backup")


class BackupObserver(Protocol):
    """Who counts. No method blocks or raises."""

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None:
        """A backup ended: ``ok`` or an error's code."""

    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None:
        """Age of the oldest last good backup, what it is held against, and bytes of all vaults as last backed up."""


class NoBackupObserver:
    """Ignores every report: where nobody scrapes."""

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None: ...
    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None: ...


@dataclass(slots=True)
class _Failures:
    count: int = 0
    not_before: float = 0.0


@dataclass(slots=True)
class RunReports:
    """Failures are remembered by this process alone: the next one tries again at once."""

    control: Transactions
    observer: BackupObserver
    every_s: float
    _failures: dict[str, _Failures] = field(default_factory=dict)
    _not_before: dict[str, float] = field(default_factory=dict)

    def may_try(self, vault_id: str) -> bool:
        """Whether it is not to wait: after a failure, or because nothing changed."""
        known = self._failures.get(vault_id)
        return time.monotonic() >= max(self._not_before.get(vault_id, 0.0), known.not_before if known else 0.0)

    async def note_success(self, run: BackupRun) -> None:
        self._failures.pop(run.vault_id, None)
        self.observer.on_backup("ok", run.seconds, run.moved)
        log.info("backup", vault=run.vault, seconds=round(run.seconds, 3), size=run.size, moved=run.moved)
        if not await self._record(run):
            # By the table it stays due: made again at every look, it would rotate all older backups away.
            self._not_before[run.vault_id] = time.monotonic() + self.every_s

    async def note_failure(self, run: BackupRun) -> None:
        known = self._failures.setdefault(run.vault_id, _Failures())
        known.count += 1
        known.not_before = time.monotonic() + wait_after(known.count, self.every_s)
        self.observer.on_backup(run.outcome, run.seconds, 0)
        log.warning("backup_failed", vault=run.vault, code=run.outcome, failures=known.count)
        await self._record(run)

    def note_unchanged(self, vault_id: str) -> None:
        """Nothing to do, and no need to look again soon."""
        self._not_before[vault_id] = time.monotonic() + self.every_s

    async def _record(self, run: BackupRun) -> bool:
        """Write it down; whether that succeeded. Else it is said and counted: other vaults are not to wait for it."""
        try:
            await self.control.write_uncounted(lambda tx: backup_runs.record(tx, run))
        except StrongroomError as failure:
            self.observer.on_backup(failure.code, 0.0, 0)
            log.warning("backup_not_recorded", vault=run.vault, code=failure.code, target=run.target)
            return False
        return True

    def note_rotation_failure(self, vault: str, failure: StrongroomError) -> None:
        """A good backup after which nothing could be taken away."""
        self.observer.on_backup(failure.code, 0.0, 0)
        log.warning("backup_rotation_failed", vault=vault, code=failure.code, reason=failure.message)

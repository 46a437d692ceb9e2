"""Backups made unasked: each vault every so often, one at a time, by the process that does its background work.

When a backup is due is read from the table ``backups``, so a restart begins where the last process ended. What fails is
written there too, tried again later, and takes nothing away: rotation follows only a backup that was verified.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import structlog

from ops.backup import backup_runs
from ops.backup.backup_runs import BackupRun
from ops.backup.disk_probe import DiskProbe, write_a_little
from ops.backup.due import BackupStanding, choose_due, wait_after
from ops.backup.pace import Pace
from ops.backup.snapshot_run import SnapshotOrder, SnapshotRun, make_snapshot
from ops.backup.snapshots import folder_key, snapshot_key
from ops.backup.subject import BackupSubject
from vaults import clock
from vaults.context import run_in
from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.disk_reserve import MB, free_bytes
from vaults.errors import Cancelled, Conflict, Overloaded, StorageFull, StrongroomError, VaultUnavailable
from vaults.registry import VaultEntry
from vaults.vault import Vault

LOOK_S = 30.0
"""Seconds between two looks whether something is due."""

FIRST_LOOK_S = 5.0
"""Seconds after a start until the first: calls come first."""

log = structlog.get_logger("ops.backup")


class BackupObserver(Protocol):
    """Who counts. No method blocks or raises."""

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None:
        """A backup of a vault ended: ``ok`` or an error's code."""

    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None:
        """Age of the oldest last good backup, what it is held against, and bytes of all vaults as last backed up."""


class NoBackupObserver:
    """Ignores every report: where nobody scrapes."""

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None: ...
    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ScheduledVaults:
    """What is backed up, and how one gets at it. ``describe``: what there is of a vault."""

    control: Database
    entries: Callable[[], Sequence[VaultEntry]]
    lease: Callable[[VaultEntry], AbstractAsyncContextManager[Vault]]
    describe: Callable[[VaultEntry], Awaitable[BackupSubject]]


@dataclass(slots=True)
class _Failures:
    count: int = 0
    not_before: float = 0.0


@dataclass(slots=True)
class BackupSchedule:
    """The loop. ``prepare``: reads keys and credentials, anew for every look, because they change; blocking. ``data``:
    the folder whose disk the copies are made on; ``reserve``: bytes of it that stay free."""

    vaults: ScheduledVaults
    prepare: Callable[[], SnapshotOrder]
    data: Path
    every_s: float
    bytes_per_s: int | None
    reserve: int
    observer: BackupObserver
    probe: DiskProbe = field(init=False)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="backup"))
    _failures: dict[str, _Failures] = field(default_factory=dict)
    _stopped: bool = False
    _order: SnapshotOrder | None = None

    def __post_init__(self) -> None:
        self.probe = DiskProbe(self._touch)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        await asyncio.sleep(FIRST_LOOK_S)
        while True:
            try:
                await self.look()
            except StrongroomError as failure:  # control.db or a key cannot be read: that is no vault's fault
                self.observer.on_backup(failure.code, 0.0, 0)
                log.warning("backup_look_failed", code=failure.code, reason=failure.message)
            await asyncio.sleep(LOOK_S)

    async def close(self) -> None:
        """Stop a backup that is under way at its next step; nothing of it is published."""
        self._stopped = True
        self.probe.close()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    async def look(self) -> int:
        """Back up what is due, one vault after the other; returns how many were."""
        standings = await self._report()
        due = [entry for entry in choose_due(standings, self.every_s, datetime.now(UTC)) if self._may_try(entry)]
        if not due:
            return 0
        self._order = await run_in(self._thread, self.prepare)
        made = 0
        for entry in due:
            made += await self._back_up(entry)
        if made:
            await self._report()
        return made

    def _may_try(self, entry: VaultEntry) -> bool:
        known = self._failures.get(entry.vault_id)
        return known is None or time.monotonic() >= known.not_before

    async def _report(self) -> list[BackupStanding]:
        entries, now = self.vaults.entries(), datetime.now(UTC)

        def read(tx: Reader) -> list[BackupStanding]:
            return [BackupStanding(entry, backup_runs.newest(tx, entry.vault_id)) for entry in entries]

        standings = await self.vaults.control.read(read)
        age = max((each.age_s(now) for each in standings), default=0.0)
        self.observer.on_backup_state(age, self.every_s, sum(each.last.size for each in standings if each.last))
        return standings

    async def _back_up(self, entry: VaultEntry) -> bool:
        """One vault; False where it is not for this process to do, or not now."""
        began_at, began = clock.now(), time.monotonic()
        try:
            run = await self._run_leased(entry)
        except (Cancelled, Conflict, Overloaded):  # we stop; another is at it; no room: none says anything of the vault
            return False
        except StrongroomError as failure:
            await self._note_failure(entry, began_at, time.monotonic() - began, failure.code)
            return False
        except Exception:
            log.exception("backup_defect", vault=entry.name)
            await self._note_failure(entry, began_at, time.monotonic() - began, "internal")
            return False
        if run is None:
            return False
        await self._note_success(entry, began_at, time.monotonic() - began, run)
        return True

    async def _run_leased(self, entry: VaultEntry) -> SnapshotRun | None:
        async with self.vaults.lease(entry) as vault:
            if not vault.background.is_ours():
                return None
            last = await self.vaults.control.read(lambda tx: backup_runs.newest(tx, entry.vault_id))
            if not BackupStanding(entry, last).is_due(self.every_s, datetime.now(UTC)):
                return None  # another process had its background work until now
            subject = await self.vaults.describe(entry)
            await self._check_disk(vault, last)
            # A vault whose folder somebody wants alone is closed under us, and its lease goes with that.
            pace = Pace(self.bytes_per_s, lambda: self._stopped or not vault.lease.held)
            working = asyncio.ensure_future(run_in(self._thread, make_snapshot, self._ready, subject, pace))
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                self._stopped = True
                await asyncio.wait({working})  # the vault stays leased as long as it is read
                raise

    async def _check_disk(self, vault: Vault, last: BackupRun | None) -> None:
        if not await self.probe.answers():
            raise VaultUnavailable("the disk does not answer in time: it gets no backup to do as well", reason="disk")
        needed = max(await vault.db.read(lambda tx: tx.size()), last.size if last else 0) + self.reserve
        free = await asyncio.to_thread(free_bytes, self.data)
        if free is not None and free < needed:
            raise StorageFull(
                f"a copy for the backup needs {needed // MB:,} MB of free disk", hint="free space; backups go on then"
            )

    @property
    def _ready(self) -> SnapshotOrder:
        if self._order is None:
            raise VaultUnavailable("no backup was prepared")
        return self._order

    def _touch(self) -> None:
        write_a_little(self.data)
        self._ready.store.find(folder_key("probe"))

    async def _note_success(self, entry: VaultEntry, began_at: str, seconds: float, run: SnapshotRun) -> None:
        self._failures.pop(entry.vault_id, None)
        written = run.written
        target = f"{self._ready.store.name}/{snapshot_key(entry.vault_id, written.name)}"
        done = BackupRun(
            entry.vault_id, entry.name, began_at, seconds, written.size, written.moved, target, run.position, "ok"
        )
        self.observer.on_backup("ok", seconds, written.moved)
        log.info(
            "backup", vault=entry.name, seconds=round(seconds, 3), size=written.size, moved=written.moved,
            pieces=written.chunks, sent=written.sent,
        )  # fmt: skip
        await self.vaults.control.write_uncounted(lambda tx: backup_runs.record(tx, done))
        if isinstance(run.rotation, StrongroomError):
            self.observer.on_backup(run.rotation.code, 0.0, 0)
            log.warning("backup_rotation_failed", vault=entry.name, code=run.rotation.code)
        elif run.rotation.snapshots or run.rotation.chunks:
            rotation = run.rotation
            log.info("backup_rotated", vault=entry.name, gone=len(rotation.snapshots), freed=rotation.freed)

    async def _note_failure(self, entry: VaultEntry, began_at: str, seconds: float, code: str) -> None:
        known = self._failures.setdefault(entry.vault_id, _Failures())
        known.count += 1
        known.not_before = time.monotonic() + wait_after(known.count, self.every_s)
        self.observer.on_backup(code, seconds, 0)
        log.warning("backup_failed", vault=entry.name, code=code, failures=known.count)
        failed = BackupRun(entry.vault_id, entry.name, began_at, seconds, 0, 0, self._ready.store.name, 0, code)
        await self.vaults.control.write_uncounted(lambda tx: backup_runs.record(tx, failed))

"""Backups made unasked: each vault every so often, one at a time, by the process that does its background work.

When a backup is due is read from the table ``backups``, so a restart begins where the last process ended. What fails is
written there too, tried again later, and takes nothing away: rotation follows only a backup that was verified.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from ops.backup import backup_runs
from ops.backup.backup_runs import CONTROL, BackupRun
from ops.backup.control_archive import ControlSubject
from ops.backup.control_run import make_control_backup
from ops.backup.disk_probe import DiskProbe, write_a_little
from ops.backup.due import BackupStanding, choose_due, is_due
from ops.backup.pace import Pace
from ops.backup.run_reports import BackupObserver, RunReports
from ops.backup.snapshot_run import SnapshotOrder, SnapshotRun, make_snapshot
from ops.backup.snapshots import folder_key, snapshot_key
from ops.backup.subject import BackupSubject
from ops.backup.target_errors import translate_scratch_errors
from ops.backup.turns import CONTROL_TURN, turn
from ops.backup.vault_measure import measure
from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.db.transactions import Transactions
from vaults.errors import Cancelled, Conflict, Overloaded, StrongroomError, VaultUnavailable
from vaults.registry import VaultEntry, list_vaults
from vaults.vault import Vault
from vaults.vault_hosting import VaultElsewhere

T = TypeVar("T")

LOOK_S = 30.0
"""Seconds between two looks whether something is due."""

FIRST_LOOK_S = 5.0
"""Seconds after a start until the first: calls come first."""

log = structlog.get_logger("ops.backup")


@dataclass(frozen=True, slots=True)
class ScheduledWork:
    """What is backed up, and how one gets at it. ``describe``: what there is of a vault; ``installation``: control.db
    and keys; None where nothing is encrypted, because then they are not backed up. ``place``: the name of the store.
    ``share``: which of all vaults this server backs up, where others do the same; None: all of them. Then no vault's
    files lie here but while it is leased, an archived one's neither."""

    control: Transactions
    entries: Callable[[], Sequence[VaultEntry]]
    lease: Callable[[VaultEntry], AbstractAsyncContextManager[Vault]]
    describe: Callable[[VaultEntry], Awaitable[BackupSubject]]
    installation: ControlSubject | None
    place: str
    share: Callable[[Sequence[VaultEntry]], Awaitable[Sequence[VaultEntry]]] | None = None


@dataclass(frozen=True, slots=True)
class SchedulePace:
    """``every_s``: between two backups of a vault; ``bytes_per_s``: to the target at most."""

    every_s: float
    bytes_per_s: int | None


@dataclass(slots=True)
class BackupSchedule:
    """The loop. ``prepare``: reads keys and credentials, anew for every look, because they change; blocking. ``data``:
    the folder whose disk the copies are made on."""

    work: ScheduledWork
    prepare: Callable[[], SnapshotOrder]
    data: Path
    pace: SchedulePace
    observer: BackupObserver
    probe: DiskProbe = field(init=False)
    _reports: RunReports = field(init=False)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="backup"))
    _stopped: bool = False
    _order: SnapshotOrder | None = None

    def __post_init__(self) -> None:
        self.probe = DiskProbe(self._touch)
        self._reports = RunReports(self.work.control, self.observer, self.pace.every_s)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        await asyncio.gather(self._keep_looking(), self._keep_telling())

    async def _keep_looking(self) -> None:
        await asyncio.sleep(FIRST_LOOK_S)
        while True:
            try:
                await self._outlive(self.look())
            except StrongroomError as failure:  # control.db or a key cannot be read: that is no vault's fault
                self.observer.on_backup(failure.code, 0.0, 0)
                log.warning("backup_look_failed", code=failure.code, reason=failure.message)
            await asyncio.sleep(LOOK_S)

    async def _keep_telling(self) -> None:
        """How old backups are, also while one takes hours or hangs with its target: an alert goes by that."""
        while True:
            with suppress(StrongroomError):  # whoever looks meets it too, and says so
                await self._outlive(self._read_standings())
            await asyncio.sleep(LOOK_S)

    async def _outlive(self, looking: Awaitable[object]) -> None:
        try:
            await looking
        except StrongroomError:
            raise
        except Exception:  # a defect must not be the end of all backups
            self.observer.on_backup("internal", 0.0, 0)
            log.exception("backup_look_defect")

    async def close(self) -> None:
        """Stop a backup that is under way at its next step; nothing of it is published."""
        self._stopped = True
        self.probe.close()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    async def look(self) -> int:
        """Back up what is due, one after the other; returns how many vaults were."""
        standings, control = await self._read_standings()
        now = datetime.now(UTC)
        due = [each for each in choose_due(standings, self.pace.every_s, now) if self._reports.may_try(each.vault_id)]
        due_control = self.work.installation is not None and is_due(control, self.pace.every_s, now)
        if not due and not due_control:
            return 0
        self._order = await run_in(self._thread, self.prepare)
        made = 0
        if due_control and self._reports.may_try(CONTROL):
            await self._try(CONTROL, "", self._back_up_installation)
        for entry in due:
            is_leased = entry.state == "active" or self.work.share is not None
            back_up = self._back_up_vault if is_leased else self._back_up_archived
            made += await self._try(entry.vault_id, entry.name, partial(back_up, entry))
        await self._read_standings()
        return made

    async def _read_standings(self) -> tuple[list[BackupStanding], BackupRun | None]:
        entries, now = await self._entries(), datetime.now(UTC)

        def read(tx: Reader) -> list[BackupStanding]:
            return [BackupStanding(each, backup_runs.newest_at(tx, each.vault_id, self.work.place)) for each in entries]

        standings = await self.work.control.read(read)
        age = max((each.age_s(now) for each in standings), default=0.0)
        size = sum(each.last.size for each in standings if each.last)
        self.observer.on_backup_state(age, self.pace.every_s, size)
        return standings, await self._last(CONTROL)

    async def _entries(self) -> Sequence[VaultEntry]:
        active = self.work.entries()
        archived = [each for each in await self.work.control.read(list_vaults) if each.state == "archived"]
        entries = [*active, *archived]
        return entries if self.work.share is None else await self.work.share(entries)

    async def _last(self, vault_id: str) -> BackupRun | None:
        return await self.work.control.read(lambda tx: backup_runs.newest_at(tx, vault_id, self.work.place))

    async def _try(self, vault_id: str, name: str, back_up: Callable[[], Awaitable[BackupRun | None]]) -> bool:
        """Whether a backup was made; False where it failed, is not for this process to make, or not now."""
        if self._stopped:
            return False
        began_at, began = clock.now(), time.monotonic()
        try:
            # From the look whether it is due to the record of it: else two processes would each make one.
            async with self._turn(vault_id or CONTROL_TURN):
                run = await back_up()
                if run is not None:
                    await self._reports.note_success(run)
        except (Cancelled, Conflict, Overloaded, VaultElsewhere):
            return False  # we stop; another is at it, or has it; no room: none says anything of the vault
        except StrongroomError as failure:
            code = failure.code
        except Exception:  # a defect must not end the backups of the other vaults
            log.exception("backup_defect", vault=name)
            code = "internal"
        else:
            return run is not None
        seconds = time.monotonic() - began
        await self._reports.note_failure(BackupRun(vault_id, name, began_at, seconds, 0, 0, self.work.place, 0, code))
        return False

    @asynccontextmanager
    async def _turn(self, whose: str) -> AsyncIterator[None]:
        with ExitStack() as held:
            await self._on_thread(partial(_take_turn, held, self._ready.scratch, whose))
            yield

    async def _back_up_vault(self, entry: VaultEntry) -> BackupRun | None:
        began_at, began = clock.now(), time.monotonic()
        async with self.work.lease(entry) as vault:
            # Another process may have had its background work until now.
            if not vault.background.is_ours() or not await self._is_due(entry.vault_id):
                return None
            subject = await self.work.describe(entry)
            await self._check_disk()
            # A vault whose folder somebody wants alone is closed under us, and its lease goes with that.
            pace = Pace(self.pace.bytes_per_s, lambda: self._stopped or not vault.lease.held)
            run = await self._on_thread(lambda: make_snapshot(self._ready, subject, pace))
        return self._to_run(entry, began_at, time.monotonic() - began, run)

    async def _back_up_archived(self, entry: VaultEntry) -> BackupRun | None:
        """An archived vault once, and again after somebody changed its files. It is opened for nobody."""
        began_at, began, last = clock.now(), time.monotonic(), await self._last(entry.vault_id)
        if not is_due(last, self.pace.every_s, datetime.now(UTC)):
            return None
        subject = await self.work.describe(entry)
        await self._check_disk()
        if last is not None and (await self._on_thread(lambda: measure(subject))).is_older_than(last.began_at):
            self._reports.note_unchanged(entry.vault_id)
            return None
        pace = Pace(self.pace.bytes_per_s, lambda: self._stopped)
        run = await self._on_thread(lambda: make_snapshot(self._ready, subject, pace))
        return self._to_run(entry, began_at, time.monotonic() - began, run)

    def _to_run(self, entry: VaultEntry, began_at: str, seconds: float, run: SnapshotRun) -> BackupRun:
        if isinstance(run.rotation, StrongroomError):
            self._reports.note_rotation_failure(entry.name, run.rotation)
        written = run.written
        return BackupRun(
            entry.vault_id, entry.name, began_at, seconds, written.size, written.moved,
            f"{self.work.place}/{snapshot_key(entry.vault_id, written.name)}", run.position, "ok",
        )  # fmt: skip

    async def _back_up_installation(self) -> BackupRun | None:
        began_at, began, subject = clock.now(), time.monotonic(), self.work.installation
        if subject is None or not await self._is_due(CONTROL):
            return None
        await self._check_disk()
        pace = Pace(self.pace.bytes_per_s, lambda: self._stopped)
        run = await self._on_thread(lambda: make_control_backup(self._ready, subject, pace))
        return BackupRun(
            CONTROL, "", began_at, time.monotonic() - began, run.size, run.moved, f"{self.work.place}/{run.key}",
            run.position, "ok",
        )  # fmt: skip

    async def _is_due(self, vault_id: str) -> bool:
        return is_due(await self._last(vault_id), self.pace.every_s, datetime.now(UTC))

    async def _on_thread(self, work: Callable[[], T]) -> T:
        working = asyncio.ensure_future(run_in(self._thread, work))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            self._stopped = True
            await asyncio.wait({working})  # a vault stays leased as long as it is read
            raise

    async def _check_disk(self) -> None:
        if not await self.probe.answers():
            raise VaultUnavailable("the disk does not answer in time: it gets no backup to do as well", reason="disk")

    @property
    def _ready(self) -> SnapshotOrder:
        if self._order is None:
            raise VaultUnavailable("no backup was prepared")
        return self._order

    def _touch(self) -> None:
        write_a_little(self.data)
        self._ready.store.find(folder_key("probe"))


def _take_turn(held: ExitStack, scratch: Path, whose: str) -> None:
    with translate_scratch_errors():
        held.enter_context(turn(scratch, whose))

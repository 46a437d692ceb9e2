"""Making one archive, from its turn to the record of it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ops.backup import backup_runs
from ops.backup.archive_writer import OPEN, Seal, WrittenArchive, write_archive
from ops.backup.backup_runs import BackupRun
from ops.backup.control_archive import ControlSubject, require_encryption, stage_control
from ops.backup.pace import Pace
from ops.backup.partial_files import sweep_partials
from ops.backup.scratch import scratch_folder, turn
from ops.backup.staging import StagedBackup, stage
from ops.backup.subject import read_subject
from ops.backup.target_errors import translate_target_errors
from vaults import clock
from vaults.context import run_in
from vaults.db.connection import Database
from vaults.errors import Conflict, ReadOnly, StorageFull, StrongroomError, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.registry import VaultEntry, instance_id
from vaults.settings import NotesSettings, StorageSettings

ARCHIVES_FOLDER = "backups"
"""In the data folder: where archives go unless somebody says otherwise. Better than nothing, on the same disk."""

SCRATCH_FOLDER = "backup-scratch"


@dataclass(frozen=True, slots=True)
class Installation:
    """The installation whose vaults are backed up. ``niceness``: how far the work steps back behind other processes. In
    one that serves that must be 0: a thread that is set back would hold the interpreter's lock all the same."""

    data: Path
    control: Database
    config: Path
    version: str
    storage: StorageSettings
    notes: NotesSettings
    niceness: int = 0


@dataclass(frozen=True, slots=True)
class ArchiveOrder:
    """Where archives go, how they are closed, and at most how many bytes a second are moved."""

    to: Path
    seal: Seal = OPEN
    bytes_per_s: float | None = None


def default_target(data: Path) -> Path:
    """The folder for archives in the data folder, made if it is missing. Blocking."""
    folder = data / ARCHIVES_FOLDER
    with translate_target_errors():
        make_private_folder(folder)
    return folder


async def back_up_vault(home: Installation, entry: VaultEntry, order: ArchiveOrder) -> BackupRun:
    """Write an archive of a vault that others may be writing to, and record how it went. Raises ``Conflict`` while
    another backup of it is being made, and what ``stage`` and ``write_archive`` raise."""
    subject = await read_subject(
        home.control, home.data, entry, version=home.version, storage=home.storage, notes=home.notes
    )
    return await _run(home, (entry.vault_id, entry.name), order, lambda scratch, pace: stage(subject, scratch, pace))


async def back_up_control(home: Installation, order: ArchiveOrder) -> BackupRun:
    """Write an archive of control.db, keys, licence and settings. Raises ``InvalidArgument`` unless it is encrypted."""
    require_encryption(order.seal)
    subject = ControlSubject(home.data, home.config, await instance_id(home.control), home.version, home.storage)
    return await _run(home, ("", ""), order, lambda scratch, pace: stage_control(subject, scratch, pace))


async def _run(
    home: Installation, whose: tuple[str, str], order: ArchiveOrder, make: Callable[[Path, Pace], StagedBackup]
) -> BackupRun:
    began_at, began, stopped = clock.now(), time.monotonic(), threading.Event()
    vault_id, vault = whose

    def work() -> tuple[WrittenArchive, StagedBackup]:
        _step_back(home.niceness)
        _require_target(order.to)
        order.seal.check()
        pace = Pace(order.bytes_per_s, stopped.is_set)
        parent = home.data / SCRATCH_FOLDER
        with turn(parent, vault_id or "control"), scratch_folder(parent) as scratch:
            with translate_target_errors():
                sweep_partials(order.to)
            staged = make(scratch, pace)
            return write_archive(staged, order.to, order.seal, Pace(order.bytes_per_s, stopped.is_set)), staged

    # A thread of its own: this takes seconds to minutes, and no call may wait for a place behind it.
    with ThreadPoolExecutor(1, thread_name_prefix="backup") as thread:
        working = asyncio.ensure_future(run_in(thread, work))
        try:
            written, staged = await asyncio.shield(working)
        except asyncio.CancelledError:
            stopped.set()
            await asyncio.wait({working})
            raise
        except Conflict:
            raise
        except StrongroomError as failure:
            seconds = time.monotonic() - began
            failed = BackupRun(vault_id, vault, began_at, seconds, 0, 0, str(order.to), 0, failure.code)
            await _record(home.control, failed)
            raise
    run = BackupRun(
        vault_id, vault, began_at, time.monotonic() - began,
        staged.manifest.size, written.size, str(written.path), staged.manifest.position, "ok",
    )  # fmt: skip
    await _record(home.control, run)
    return run


async def _record(control: Database, run: BackupRun) -> None:
    try:
        await control.write_uncounted(lambda tx: backup_runs.record(tx, run))
    except (ReadOnly, StorageFull, VaultUnavailable):
        if run.outcome == "ok":  # the archive is there and good; but the schedule and alerts would not know
            raise


def _require_target(folder: Path) -> None:
    # Never made here: where a disk is not mounted, the folder would be made on another one.
    if not folder.is_dir():
        raise VaultUnavailable("the folder for backups is not there", hint="is it mounted?", reason="target")


def _step_back(niceness: int) -> None:
    """Have this thread, and those it starts, wait for others: on Linux each thread has a priority of its own."""
    if niceness and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)

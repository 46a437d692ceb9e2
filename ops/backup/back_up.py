"""Making one archive, from its turn to the record of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ops.backup import backup_runs
from ops.backup.archive_writer import OPEN, Seal, WrittenArchive, write_archive
from ops.backup.backup_runs import BackupRun
from ops.backup.control_archive import ControlSubject, require_encryption, stage_control
from ops.backup.manifest import Remark
from ops.backup.pace import REST_S, Pace
from ops.backup.partial_files import sweep_partials
from ops.backup.staging import StagedBackup, go_on, stage, stage_alone
from ops.backup.stepping_back import step_back, use_idle_time
from ops.backup.subject import BackupSubject, read_subject
from ops.backup.target_errors import translate_scratch_errors, translate_target_errors
from ops.backup.turns import CONTROL_TURN, SCRATCH_FOLDER, turn
from vaults import clock
from vaults.context import run_in
from vaults.db.transactions import Transactions
from vaults.errors import Conflict, StrongroomError, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.files.scratch_folders import scratch_folder
from vaults.registry import VaultEntry, instance_id
from vaults.settings import NotesSettings, StorageSettings

T = TypeVar("T")

ARCHIVES_FOLDER = "backups"
"""In the data folder: where archives go unless somebody says otherwise. Better than nothing, on the same disk."""

Make = Callable[[Path, Pace], StagedBackup]
"""Puts a backup together in a scratch folder. Blocking."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The installation whose vaults are backed up. ``niceness``: how far the work steps back behind other processes. In
    one that serves that must be 0: a thread that is set back would hold the interpreter's lock all the same.
    ``folder_of``: where the files of a vault lie, where that is not in the data folder by its name."""

    data: Path
    control: Transactions
    config: Path
    version: str
    storage: StorageSettings
    notes: NotesSettings
    niceness: int = 0
    folder_of: Callable[[VaultEntry], Path] | None = None


@dataclass(frozen=True, slots=True)
class ArchiveOrder:
    """Where archives go, how they are closed, and at most how many bytes a second are moved."""

    to: Path
    seal: Seal = OPEN
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class MadeBackup:
    """A backup that was made. ``remarks``: the first of ``remark_count`` things that are not in it as people might
    expect."""

    run: BackupRun
    remarks: tuple[Remark, ...] = ()
    remark_count: int = 0


def default_target(data: Path) -> Path:
    """The folder for archives in the data folder, made if it is missing. Blocking."""
    folder = data / ARCHIVES_FOLDER
    with translate_target_errors():
        make_private_folder(folder)
    return folder


async def back_up_vault(home: Installation, entry: VaultEntry, order: ArchiveOrder) -> MadeBackup:
    """Write an archive of a vault that others may be writing to, and record how it went. Raises ``Conflict`` while
    another backup of it is being made or somebody wants its folder alone, and what ``stage`` and ``write_archive``
    raise."""
    subject = await _read_subject(home, entry)
    then = use_idle_time if home.niceness else go_on  # once it is copied nothing of the vault waits for us
    return await _run(
        home, (entry.vault_id, entry.name), order, lambda scratch, pace: stage(subject, scratch, pace, then)
    )


async def back_up_held_vault(home: Installation, entry: VaultEntry, order: ArchiveOrder) -> MadeBackup:
    """``back_up_vault`` for a caller who has the vault's folder alone."""
    subject = await _read_subject(home, entry)
    return await _run(
        home, (entry.vault_id, entry.name), order, lambda scratch, pace: stage_alone(subject, scratch, pace)
    )


async def back_up_control(home: Installation, order: ArchiveOrder) -> MadeBackup:
    """Write an archive of control.db, keys, licence and settings. Raises ``InvalidArgument`` unless it is encrypted."""
    require_encryption(order.seal)
    subject = ControlSubject(home.data, home.config, await instance_id(home.control), home.version, home.storage)
    return await _run(home, ("", ""), order, lambda scratch, pace: stage_control(subject, scratch, pace))


async def _read_subject(home: Installation, entry: VaultEntry) -> BackupSubject:
    subject = await read_subject(
        home.control, home.data, entry, version=home.version, storage=home.storage, notes=home.notes
    )
    return subject if home.folder_of is None else replace(subject, folder=home.folder_of(entry))


async def _run(home: Installation, whose: tuple[str, str], order: ArchiveOrder, make: Make) -> MadeBackup:
    began_at, began, stopped = clock.now(), time.monotonic(), threading.Event()
    vault_id, vault = whose
    parent = home.data / SCRATCH_FOLDER
    try:
        written, staged = await _on_own_thread(
            lambda: _make_archive(home.niceness, (parent, vault_id or CONTROL_TURN), order, make, stopped), stopped
        )
    except Conflict:
        raise
    except StrongroomError as failure:
        seconds = time.monotonic() - began
        failed = BackupRun(vault_id, vault, began_at, seconds, 0, 0, str(order.to), 0, failure.code)
        with suppress(StrongroomError):  # what failed first is what the caller is to know
            await _record(home.control, failed)
        raise
    run = BackupRun(
        vault_id, vault, began_at, time.monotonic() - began,
        staged.manifest.size, written.size, str(written.path), staged.manifest.position, "ok",
    )  # fmt: skip
    await _record(home.control, run)
    return MadeBackup(run, staged.manifest.remarks, staged.manifest.remark_count)


async def _on_own_thread(work: Callable[[], T], stopped: threading.Event) -> T:
    """What takes seconds to minutes, on a thread of its own: no call may wait for a place behind it. A caller that is
    cancelled has it stopped and waits for its end."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="backup")
    working = asyncio.ensure_future(run_in(thread, work))
    try:
        return await asyncio.shield(working)
    finally:
        while not working.done():
            stopped.set()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({working})
        working.exception()  # that of one that was stopped is nobody's to hear
        thread.shutdown(wait=False)


def _make_archive(
    niceness: int, whose: tuple[Path, str], order: ArchiveOrder, make: Make, stopped: threading.Event
) -> tuple[WrittenArchive, StagedBackup]:
    step_back(niceness)
    _require_target(order.to)
    order.seal.check()
    parent, name = whose
    with translate_scratch_errors(), turn(parent, name), scratch_folder(parent) as scratch:
        with translate_target_errors():
            sweep_partials(order.to)
        # The bound is for what is moved. The copy holds a read transaction and is to be over soon.
        rest_s = 0.0 if niceness else REST_S
        staged = make(scratch, Pace(stopped=stopped.is_set, rest_s=rest_s))
        return write_archive(staged, order.to, order.seal, Pace(order.bytes_per_s, stopped.is_set, rest_s)), staged


async def _record(control: Transactions, run: BackupRun) -> None:
    await control.write_uncounted(lambda tx: backup_runs.record(tx, run))


def _require_target(folder: Path) -> None:
    # Never made here: where a disk is not mounted, the folder would be made on another one.
    if not folder.is_dir():
        raise VaultUnavailable("the folder for backups is not there", hint="is it mounted?", reason="target")

"""Restoring what is the installation's own: registry, grants and tokens (``control.db``), keys, audit, licence,
settings."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from uuid_utils import uuid7

from auth.keys import KeyRing
from ops.backup import contents
from ops.backup.disk_sync import sync_tree
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import AUDIT, CONTROL_DATABASE, KEYS, LICENCE, SETTINGS_FILE
from ops.backup.source import BackupSource
from vaults import registry
from vaults.context import run_to_completion
from vaults.db.connection import Database, open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader
from vaults.errors import InvalidArgument, VaultQuarantined, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.files.writes import renames
from vaults.files.writes.renames import FolderEntry
from vaults.registry import folder_of
from vaults.settings import StorageSettings
from vaults.vault import DATABASE_FILE

REPLACED = "replaced-control-"

_PLACED = (KEYS, CONTROL_DATABASE, LICENCE)
"""In this order: keys that no token was signed with yet do no harm."""

_LEFT_WHERE_THERE = (AUDIT, SETTINGS_FILE)
"""What the backup does not replace: an audit that goes on must not be wound back, and settings are this box's."""


@dataclass(frozen=True, slots=True)
class ControlReport:
    """``restored``: what was put in place; ``left``: what the backup has and the folder had already; ``replaced``: the
    folder that holds what stood there; ``missing``: registered vaults whose files are not here."""

    made_at: str
    restored: Sequence[str]
    left: Sequence[str]
    replaced: Path | None
    missing: Sequence[str]


async def restore_control(
    source: BackupSource, data: Path, storage: StorageSettings, *, dry_run: bool = False
) -> ControlReport:
    """Restore it into a data folder that nobody uses; call it while no server runs. What stood there is kept. Raises
    ``InvalidArgument``, ``VaultQuarantined`` (reason ``future``), ``VaultUnavailable`` where control.db is open."""
    manifest = await asyncio.to_thread(source.read_manifest)
    _check_manifest(manifest)
    make_private_folder(data)
    async with _scratch(data) as scratch:
        await asyncio.to_thread(source.extract, scratch)
        await asyncio.to_thread(_check, scratch, manifest, storage)
        missing = await _open_once(scratch, data, storage)
        found = [name for name in _PLACED if (scratch / name).exists()]
        others = [name for name in _LEFT_WHERE_THERE if (scratch / name).exists()]
        left = [name for name in others if (data / name).exists()]
        found += [name for name in others if name not in left]
        replaced = None
        if not dry_run:
            replaced = await run_to_completion(asyncio.to_thread(_put_in_place, scratch, data, found, storage))
        return ControlReport(manifest.made_at, found, left, replaced, missing)


def _check_manifest(manifest: BackupManifest) -> None:
    if manifest.kind != "control":
        raise InvalidArgument("archive", "is a backup of a vault", hint="restore it without --control")
    if manifest.schema_steps > len(load_migrations("control")):
        raise VaultQuarantined(
            f"the backup was written by a newer strongroom, {manifest.version}",
            hint="upgrade the server",
            reason="future",
        )


@asynccontextmanager
async def _scratch(data: Path) -> AsyncIterator[Path]:
    """A folder for the members. Gone in the end, unless it holds what was replaced."""
    scratch = data / f".restoring-control-{uuid7().hex[-8:]}"
    scratch.mkdir(0o700)
    try:
        yield scratch
    finally:
        if scratch.exists():
            await asyncio.to_thread(shutil.rmtree, scratch)


def _check(scratch: Path, manifest: BackupManifest, storage: StorageSettings) -> None:
    database = scratch / CONTROL_DATABASE
    if not database.is_file():
        raise InvalidArgument("archive", "holds no control.db")
    with translate_sqlite_errors(), closing(open_raw(database, storage, writer=True)) as raw:
        if raw.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok" or contents.differs(Reader(raw), manifest):
            raise InvalidArgument("archive", "holds another control.db than it says")
    if (scratch / KEYS).is_dir():
        KeyRing(scratch / KEYS).refresh()


async def _open_once(scratch: Path, data: Path, storage: StorageSettings) -> list[str]:
    """Bring control.db to this version's schema; returns the vaults whose files are missing."""
    control = Database(scratch / CONTROL_DATABASE, storage)
    try:
        await migrate(control, "control")
        entries = await control.read(registry.list_vaults)
    finally:
        await control.close()
    return [each.name for each in entries if not (folder_of(data, each.name, each.path) / DATABASE_FILE).is_file()]


def _put_in_place(scratch: Path, data: Path, names: Sequence[str], storage: StorageSettings) -> Path | None:
    stood = _set_log_aside(scratch, data, storage) if (data / CONTROL_DATABASE).exists() else False
    sync_tree(scratch)
    folders = [os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for path in (scratch, data)]
    try:
        for name in names:
            stood = _place(FolderEntry(folders[0], name), FolderEntry(folders[1], name)) or stood
        os.fsync(folders[1])
    finally:
        for descriptor in folders:
            os.close(descriptor)
    if not stood:
        return None
    replaced = data / f"{REPLACED}{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{scratch.name[-8:]}"
    scratch.rename(replaced)
    return replaced


def _set_log_aside(scratch: Path, data: Path, storage: StorageSettings) -> bool:
    """Leave control.db without a log: SQLite would take it for that of the restored one. Returns whether ``scratch``
    has a copy of it, which it has where control.db is damaged: SQLite may then have thrown it away."""
    log = data / f"{CONTROL_DATABASE}-wal"
    copy = scratch / log.name
    if log.exists():
        shutil.copy2(log, copy)
    if _close_for_all(data / CONTROL_DATABASE, storage):
        copy.unlink(missing_ok=True)
    for end in ("-wal", "-shm"):
        (data / f"{CONTROL_DATABASE}{end}").unlink(missing_ok=True)
    return copy.exists()


def _place(one: FolderEntry, other: FolderEntry) -> bool:
    """Put ``one`` where ``other`` is; whether something stood there, which is ``one`` afterwards."""
    try:
        os.stat(other.name, dir_fd=other.folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(one.name, other.name, src_dir_fd=one.folder, dst_dir_fd=other.folder)
        return False
    if not renames.exchange(one, other):
        aside = f"{one.name}.restored"
        os.rename(one.name, aside, src_dir_fd=one.folder, dst_dir_fd=one.folder)
        os.rename(other.name, one.name, src_dir_fd=other.folder, dst_dir_fd=one.folder)
        os.rename(aside, other.name, src_dir_fd=one.folder, dst_dir_fd=other.folder)
    return True


def _close_for_all(database: Path, storage: StorageSettings) -> bool:
    """Make control.db one file without a log, which only works where nobody has it open. False for a damaged one, which
    stays as it is. Raises ``VaultUnavailable``."""
    with (
        suppress(VaultQuarantined),
        translate_sqlite_errors(),
        closing(open_raw(database, storage, writer=False)) as raw,
    ):
        raw.execute("PRAGMA busy_timeout=1000")
        raw.execute("PRAGMA query_only=OFF")
        if raw.execute("PRAGMA journal_mode=DELETE").fetchone()[0] != "delete":
            raise VaultUnavailable("control.db is open in another process", hint="stop what serves this data folder")
        return True
    return False

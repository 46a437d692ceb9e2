"""Restoring what is the installation's own: registry, grants and tokens (``control.db``), keys, audit, licence,
settings."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from uuid_utils import uuid7

from auth.keys import KeyRing, are_encrypted, check_key_files
from ops.backup import contents
from ops.backup.extraction import extract, on_thread
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import AUDIT, CONTROL_DATABASE, KEYS, LICENCE, SETTINGS_FILE
from ops.backup.source import BackupSource
from ops.vault_life import folder_moves
from vaults import registry
from vaults.db.connection import Database, open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader
from vaults.errors import InvalidArgument, VaultQuarantined, VaultUnavailable
from vaults.files.atomic import sync_folder
from vaults.files.disk_sync import sync_tree
from vaults.files.permissions import make_private_folder
from vaults.files.writes import renames
from vaults.files.writes.renames import FolderEntry
from vaults.registry import DATABASE_FILE, folder_of
from vaults.settings import StorageSettings

REPLACED = "replaced-control-"
_SCRATCH = ".restoring-control-"

_PLACED = (KEYS, CONTROL_DATABASE, LICENCE)
"""In this order: keys that no token was signed with yet do no harm."""

_LEFT_WHERE_THERE = (AUDIT, SETTINGS_FILE)
"""What the backup does not replace: an audit that goes on must not be wound back, and settings are this box's."""


@dataclass(frozen=True, slots=True)
class ControlReport:
    """``restored``: what was put in place; ``left``: what the backup has and the folder had already; ``replaced``: the
    folder that holds what stood there; ``missing``: registered vaults whose files are not here; ``sealed``: the keys
    need a passphrase that was not given, so nobody has read them yet."""

    made_at: str
    restored: Sequence[str]
    left: Sequence[str]
    replaced: Path | None
    missing: Sequence[str]
    sealed: bool = False


async def restore_control(
    source: BackupSource,
    data: Path,
    storage: StorageSettings,
    *,
    key_passphrase_file: str | None = None,
    dry_run: bool = False,
) -> ControlReport:
    """Restore it into a data folder that nobody uses; call it while no server runs, once at a time. What stood there is
    kept; a restore that is killed half-way is to be repeated. Raises ``InvalidArgument``, ``VaultQuarantined`` (reason
    ``future``), ``VaultUnavailable`` where control.db is open."""
    manifest = await asyncio.to_thread(source.read_manifest)
    _check_manifest(manifest)
    make_private_folder(data)
    async with _scratch(data) as scratch:
        await extract(source, scratch)
        await on_thread(_check, scratch, manifest, storage)
        sealed = await on_thread(_check_keys, scratch / KEYS, key_passphrase_file)
        missing = await _open_once(scratch, data, storage)
        found = [name for name in _PLACED if (scratch / name).exists()]
        others = [name for name in _LEFT_WHERE_THERE if (scratch / name).exists()]
        left = [name for name in others if (data / name).exists()]
        found += [name for name in others if name not in left]
        replaced = None if dry_run else await on_thread(_put_in_place, scratch, data, found, storage)
        return ControlReport(manifest.made_at, found, left, replaced, missing, sealed)


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
    """A folder for the members, gone in the end: before anything changes places it gets a name of its own. What killed
    restores left of theirs, keys among it, goes first."""
    for left in data.glob(f"{_SCRATCH}*"):
        await on_thread(shutil.rmtree, left)
    scratch = data / f"{_SCRATCH}{uuid7().hex[-8:]}"
    scratch.mkdir(0o700)
    try:
        yield scratch
    finally:
        if scratch.exists():
            await on_thread(shutil.rmtree, scratch)


def _check(scratch: Path, manifest: BackupManifest, storage: StorageSettings) -> None:
    database = scratch / CONTROL_DATABASE
    if not database.is_file():
        raise InvalidArgument("archive", "holds no control.db")
    with translate_sqlite_errors(), closing(open_raw(database, storage, writer=True)) as raw:
        if raw.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok" or contents.differs(Reader(raw), manifest):
            raise InvalidArgument("archive", "holds another control.db than it says")


def _check_keys(keys: Path, passphrase_file: str | None) -> bool:
    """Read the keys; returns whether they are encrypted and nobody said with what: their bytes are proven, and a new
    box has no settings yet that could name a passphrase."""
    if not keys.is_dir():
        return False
    if passphrase_file is None:
        check_key_files(keys)
        return are_encrypted(keys)
    KeyRing(keys, passphrase_file).reload()
    return False


async def _open_once(scratch: Path, data: Path, storage: StorageSettings) -> list[str]:
    """Bring control.db to this version's schema; returns the vaults whose files are missing."""
    control = Database(scratch / CONTROL_DATABASE, storage)
    try:
        await migrate(control, "control")
        await folder_moves.forget_absent(control, data)
        entries = await control.read(registry.list_vaults)
    finally:
        await control.close()
    return [each.name for each in entries if not (folder_of(data, each.name, each.path) / DATABASE_FILE).is_file()]


def _put_in_place(scratch: Path, data: Path, names: Sequence[str], storage: StorageSettings) -> Path | None:
    stood = _copy_log(scratch, data, storage) if (data / CONTROL_DATABASE).exists() else False
    for name in (name for name in _LEFT_WHERE_THERE if name not in names):
        _remove(scratch / name)  # what is kept is what stood here, and no second audit beside it
    sync_tree(scratch)
    # From here on it may hold what stood there: under a name that says so, whatever comes.
    kept = data / f"{REPLACED}{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{scratch.name[-8:]}"
    scratch.rename(kept)
    sync_folder(data)
    for end in ("-wal", "-shm"):  # SQLite would take them for those of the restored one
        (data / f"{CONTROL_DATABASE}{end}").unlink(missing_ok=True)
    with _open_folder(kept) as one, _open_folder(data) as other:
        stood = _place_all([(FolderEntry(one, name), FolderEntry(other, name)) for name in names]) or stood
        os.fsync(other)
    if stood:
        return kept
    shutil.rmtree(kept)
    return None


def _place_all(places: Sequence[tuple[FolderEntry, FolderEntry]]) -> bool:
    """Put each where the other is; whether anything stood there. On a failure all are where they were."""
    done: list[tuple[FolderEntry, FolderEntry, bool]] = []
    try:
        for one, other in places:
            done.append((one, other, _place(one, other)))
    except BaseException:
        for one, other, stood in reversed(done):
            if stood:
                _place(one, other)
            else:
                _rename(other, one)
        raise
    return any(stood for _, _, stood in done)


@contextmanager
def _open_folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy_log(scratch: Path, data: Path, storage: StorageSettings) -> bool:
    """Empty the log of control.db into it; or, where control.db is damaged, copy the log into ``scratch``: SQLite may
    throw it away. Returns whether there is such a copy. Raises ``VaultUnavailable``."""
    log = data / f"{CONTROL_DATABASE}-wal"
    copy = scratch / log.name
    if log.exists():
        shutil.copy2(log, copy)
    if _close_for_all(data / CONTROL_DATABASE, storage):
        copy.unlink(missing_ok=True)
    return copy.exists()


def _place(one: FolderEntry, other: FolderEntry) -> bool:
    """Put ``one`` where ``other`` is; whether something stood there, which is ``one`` afterwards."""
    try:
        os.stat(other.name, dir_fd=other.folder, follow_symlinks=False)
    except FileNotFoundError:
        _rename(one, other)
        return False
    if not renames.exchange(one, other):
        aside = FolderEntry(one.folder, f"{one.name}.restored")
        _rename(one, aside)
        _rename(other, one)
        _rename(aside, other)
    return True


def _rename(source: FolderEntry, target: FolderEntry) -> None:
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


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

"""The members of a backup made a vault again, in a scratch folder, and looked at before anybody is served from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from ops.backup import contents
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import HISTORY, SETTINGS, VAULT_DATABASE
from ops.backup.subject import VaultRecord
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.migration import load_migrations
from vaults.db.sql import Reader
from vaults.disk_reserve import MB, free_bytes
from vaults.domain.maintenance import reindexing, verification
from vaults.domain.maintenance.verification import VerificationReport
from vaults.domain.notes.commit import recovery
from vaults.domain.notes.index import note_rows, reconciliation
from vaults.domain.notes.index.reconciliation import NotesVanished
from vaults.errors import InvalidArgument, StorageFull, VaultQuarantined
from vaults.files.notebook import IndexProgress
from vaults.pool import VaultPool
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import NOTES_FOLDER, Vault

Advance = Callable[[Path], object]
"""Brings an extracted database further than its backup. Blocking."""


def stay(folder: Path) -> None:
    """The default: the moment of the backup."""


OWN_HISTORY = "history.git"
_REFS = Path("refs", "strongroom")


def check_manifest(manifest: BackupManifest) -> None:
    """Refuse, by name and before anything is written, what no vault can be made of: a backup of the installation
    (``InvalidArgument``), one of a later schema (``VaultQuarantined``, reason ``future``)."""
    if manifest.kind != "vault":
        raise InvalidArgument("archive", "is a backup of the installation", hint="restore it with --control")
    known = len(load_migrations("vault"))
    if manifest.schema_steps > known:
        raise VaultQuarantined(
            f"the backup was written by a newer strongroom, {manifest.version}, with schema {manifest.schema_steps};"
            f" this one knows {known}",
            hint="upgrade the server",
            reason="future",
        )
    try:
        UUID(manifest.vault_id)
    except ValueError:
        raise InvalidArgument("archive", "does not name its vault by an id") from None


def check_room(manifest: BackupManifest, target: Path, storage: StorageSettings) -> None:
    """Raise ``StorageFull`` unless the disk of ``target`` has room for a second copy of the vault."""
    folder = next(each for each in target.parents if each.exists())
    free = free_bytes(folder)
    needed = manifest.size + manifest.size // 10 + storage.reserve_mb * MB
    if free is not None and free < needed:
        raise StorageFull(
            f"the restored vault needs {needed:,} bytes beside what stands there; {free:,} are free",
            hint="free space on that disk; nothing was changed",
        )


def read_record(folder: Path) -> VaultRecord:
    """What control.db said of the vault, from the extracted members. Blocking. Raises ``InvalidArgument``."""
    try:
        return VaultRecord.model_validate_json((folder / SETTINGS).read_bytes())
    except (FileNotFoundError, ValidationError):
        raise InvalidArgument("archive", "does not say how its vault was set up") from None


def lay_out(
    folder: Path, manifest: BackupManifest, vault_id: str, storage: StorageSettings, advance: Advance = stay
) -> None:
    """Make the extracted members a vault with this id. Its database must be the one the manifest speaks of; it is not
    migrated here. Blocking. Raises ``InvalidArgument``, ``VaultQuarantined``."""
    database, notes = folder / VAULT_DATABASE, folder / NOTES_FOLDER
    if not database.is_file():
        raise InvalidArgument("archive", "holds no database")
    with translate_sqlite_errors(), closing(open_raw(database, storage, writer=True)) as raw:
        _check_contents(Reader(raw), manifest)
    advance(folder)
    with translate_sqlite_errors(), closing(open_raw(database, storage, writer=True)) as raw:
        known = _read_times(Reader(raw))
        raw.execute("UPDATE vault_info SET value = :id WHERE key = 'vault_id'", {"id": vault_id})
    notes.mkdir(0o700, exist_ok=True)
    for path, size, mtime_ns in known:
        _set_time(notes, path, size, mtime_ns)
    if (folder / HISTORY).exists():
        (folder / HISTORY).rename(folder / OWN_HISTORY)
        _rename_ref(folder / OWN_HISTORY / _REFS, manifest.vault_id, vault_id)


def _check_contents(tx: Reader, manifest: BackupManifest) -> None:
    vault_id = tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'")
    if (vault_id, contents.schema_steps(tx)) != (manifest.vault_id, manifest.schema_steps):
        raise InvalidArgument("archive", "holds the database of another vault than it says")
    if differing := contents.differs(tx, manifest):
        raise InvalidArgument("archive", f"holds other rows than it says: {', '.join(differing)}")


def _read_times(tx: Reader) -> Sequence[tuple[str, int, int]]:
    """When notes were changed last, as the rows say: searches and lists go by it, and members of a backup have no
    time."""
    if tx.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'notes'") is None:
        return []
    return [(str(path), int(size), int(at)) for path, size, at in tx.all("SELECT path, size, mtime_ns FROM notes")]


def _set_time(notes: Path, path: str, size: int, mtime_ns: int) -> None:
    with suppress(OSError, ValueError):  # the row is from before the file: it gets the time of now
        file = notes / path
        if file.resolve().is_relative_to(notes.resolve()) and file.stat().st_size == size:
            os.utime(file, ns=(mtime_ns, mtime_ns), follow_symlinks=False)


def _rename_ref(refs: Path, old: str, new: str) -> None:
    if old != new and (refs / old).is_file():
        (refs / old).rename(refs / new)


@asynccontextmanager
async def open_restored(pool: VaultPool, entry: VaultEntry, folder: Path) -> AsyncIterator[Vault]:
    """Open what ``lay_out`` made, bring it to this version's schema, finish what was under way when it was backed up,
    and read the notes where the rows are behind. Nothing runs in the background."""
    async with pool.open_apart(replace(entry, path=None), folder) as vault:
        await recovery.recover(vault)
        try:
            await reconciliation.reconcile_all(vault)
        except NotesVanished as failure:
            await reconciliation.reconcile_all(vault, expected=failure.missing)
        if incomplete := await vault.db.read(note_rows.find_incomplete):
            await reconciliation.read_whole(vault, incomplete)
        for job in (reindexing.REINDEX, reindexing.RECHUNK):
            if await vault.db.read(job.is_due):
                await job.run(vault)
        vault.notes.report(IndexProgress("ready"))
        yield vault


async def verify_restored(vault: Vault) -> VerificationReport:
    """The full ``verify``. What is derived and disagrees is built anew first: a backup of a vault that wanted a
    ``reindex`` is not lost for that. Vectors are then computed by whoever serves the vault."""
    report = await verification.verify(vault)
    if report.agrees or any(each.code in _BEYOND_REINDEX for each in report.findings):
        return report
    await reindexing.rebuild(vault)
    return await verification.verify(vault)


_BEYOND_REINDEX = frozenset({"database_damaged", "versions_damaged", "notes_unavailable", "changes_unfinished"})
"""Errors that no rebuilding repairs."""


def refuse_disagreeing(report: VerificationReport) -> None:
    """Raise ``VaultQuarantined`` unless a restored vault agrees with itself."""
    if not report.agrees:
        wrong = [each for each in report.findings if each.severity == "error"]
        raise VaultQuarantined(
            f"the restored vault does not agree with itself: {'; '.join(each.message for each in wrong)}."
            " Nothing was replaced",
            hint="take an earlier backup; backup verify says whether one is good",
            reason="disagrees",
            findings=[each.code for each in wrong],
        )

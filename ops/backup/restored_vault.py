"""The members of a backup made a vault again, in a scratch folder, and looked at before anybody is served from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from ops.backup import contents
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import HISTORY, SETTINGS, VAULT_DATABASE, why_unusable
from ops.backup.subject import VaultRecord
from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
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

MAX_RECORD = 16 * MB
"""Bytes of it: some 100,000 grants."""

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


def check_room(manifest: BackupManifest, target: Path, storage: StorageSettings, member: str | None = None) -> None:
    """Raise ``StorageFull`` unless the disk of ``target`` has room for a second copy of the vault, or of one member."""
    folder = next(each for each in target.parents if each.exists())
    found = manifest.find(member) if member is not None else manifest
    free, size = free_bytes(folder), found.size if found is not None else 0
    needed = size + size // 10 + storage.reserve_mb * MB
    if free is not None and free < needed:
        raise StorageFull(
            f"what is restored needs {needed:,} bytes beside what stands there; {free:,} are free",
            hint="free space on that disk; nothing was changed",
        )


def take_record(folder: Path) -> VaultRecord:
    """What control.db said of the vault, from the extracted members, of which it is taken away: who had which grant is
    no file of the vault. Blocking. Raises ``InvalidArgument``."""
    file = folder / SETTINGS
    try:
        if file.stat().st_size > MAX_RECORD:
            raise ValueError
        record = VaultRecord.model_validate_json(file.read_bytes())
    except (OSError, ValueError):  # also a folder of that name, and what is no record
        raise InvalidArgument("archive", "does not say how its vault was set up") from None
    file.unlink()
    return record


def lay_out(folder: Path, manifest: BackupManifest, vault_id: str, storage: StorageSettings) -> None:
    """Make the extracted members a vault with this id. Its database must be the one the manifest speaks of; it is not
    migrated here. Blocking. Raises ``InvalidArgument``, ``VaultQuarantined``."""
    database, notes = folder / VAULT_DATABASE, folder / NOTES_FOLDER
    if not database.is_file():
        raise InvalidArgument("archive", "holds no database")
    try:
        with translate_sqlite_errors(), closing(open_raw(database, storage, writer=True)) as raw:
            _check_contents(Reader(raw), manifest)
            known = _read_times(Reader(raw))
            raw.execute("UPDATE vault_info SET value = :id WHERE key = 'vault_id'", {"id": vault_id})
    except sqlite.Error:
        raise InvalidArgument("archive", "holds a database that is none of a vault") from None
    notes.mkdir(0o700, exist_ok=True)
    _set_times(notes, known)
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


def _set_times(notes: Path, known: Sequence[tuple[str, int, int]]) -> None:
    root = os.open(notes, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path, size, mtime_ns in known:
            if why_unusable(path) is not None:
                continue
            with suppress(OSError, OverflowError):  # the row is from before the file: it gets the time of now
                # Nothing on the way is a link: what was extracted holds regular files only.
                if os.stat(path, dir_fd=root, follow_symlinks=False).st_size == size:
                    os.utime(path, ns=(mtime_ns, mtime_ns), dir_fd=root, follow_symlinks=False)
    finally:
        os.close(root)


def _rename_ref(refs: Path, old: str, new: str) -> None:
    if old != new and (refs / old).is_file():
        (refs / old).rename(refs / new)


@dataclass(frozen=True, slots=True)
class OpenedVault:
    """A restored vault that is open. ``read_anew``: how many notes its rows were behind, or beside."""

    vault: Vault
    read_anew: int


@asynccontextmanager
async def open_restored(pool: VaultPool, entry: VaultEntry, folder: Path) -> AsyncIterator[OpenedVault]:
    """Open what ``lay_out`` made, bring it to this version's schema, finish what was under way when it was backed up,
    and read the notes where the rows are behind. Nothing runs in the background."""
    async with pool.open_apart(replace(entry, path=None), folder) as vault:
        finished = await recovery.recover(vault)
        try:
            done = await reconciliation.reconcile_all(vault)
        except NotesVanished as failure:
            done = await reconciliation.reconcile_all(vault, expected=failure.missing)
        if incomplete := await vault.db.read(note_rows.find_incomplete):
            await reconciliation.read_whole(vault, incomplete)
        for job in (reindexing.REINDEX, reindexing.RECHUNK):
            if await vault.db.read(job.is_due):
                await job.run(vault)
        vault.notes.report(IndexProgress("ready"))
        yield OpenedVault(vault, finished + len(done.paths))


async def verify_restored(vault: Vault) -> VerificationReport:
    """The full ``verify``. What is derived and disagrees is built anew first: a backup of a vault that wanted a
    ``reindex`` is not lost for that. Vectors are then computed by whoever serves the vault."""
    report = await verification.verify_alone(vault)
    if report.agrees or any(each.code in _BEYOND_REINDEX for each in report.findings):
        return report
    await reindexing.rebuild(vault)
    return await verification.verify_alone(vault)


CHANGED = "source_changed"
"""Content does not match its hash, and did not when it was backed up, byte for byte: no reason to refuse the backup.
Nothing is built anew then, which would take it for right."""

_CHANGED_TOO = frozenset({CHANGED, "passages_stale", "passages_differ", "tags_differ"})
"""What disagrees with such content."""

_BEYOND_REINDEX = frozenset(
    {"database_damaged", "versions_damaged", "notes_unavailable", "changes_unfinished", CHANGED}
)
"""Errors that no rebuilding repairs."""


def refuse_disagreeing(report: VerificationReport) -> None:
    """Raise ``VaultQuarantined`` unless a restored vault agrees with itself, as far as it did when it was backed up."""
    wrong = [each for each in report.findings if each.severity == "error"]
    codes = {each.code for each in wrong}
    if codes and not (CHANGED in codes and codes <= _CHANGED_TOO):
        raise VaultQuarantined(
            f"the restored vault does not agree with itself: {'; '.join(each.message for each in wrong)}."
            " Nothing was replaced",
            hint="take an earlier backup; backup verify says whether one is good",
            reason="disagrees",
            findings=[each.code for each in wrong],
        )

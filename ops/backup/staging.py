"""A vault's state at one moment, in a scratch folder: the members of a backup and its manifest.

Notes are copied first, then time stops for the database, and what tools changed in between is put right by the journal.
The history comes last. The copy of the database is checked before anybody gets to see it, and hashed beside that.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ops.backup import contents, notes_at_moment, questions
from ops.backup.file_copy import hash_file
from ops.backup.held_vault import held_open
from ops.backup.history_copy import copy_history
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.member_paths import HISTORY, NOTES, SETTINGS, VAULT_DATABASE
from ops.backup.notes_copy import NotesCopy, copy_folder, copy_served
from ops.backup.pace import Pace
from ops.backup.subject import BackupSubject
from ops.backup.target_errors import translate_scratch_errors
from ops.backup.vault_measure import measure
from vaults import clock, database_checks
from vaults.db.database_copy import open_copy, open_snapshot, refuse_damaged
from vaults.db.failures import damaged_error
from vaults.db.sql import Reader
from vaults.disk_reserve import require_room
from vaults.errors import InvalidArgument, NotFound, ReadOnly, TooLarge, VaultQuarantined
from vaults.files.tree import Tree
from vaults.registry import DATABASE_FILE
from vaults.vault import notes_root

MAX_NOTE = 1 << 30


@dataclass(frozen=True, slots=True)
class StagedBackup:
    """``folder``: holds each member at its path. The manifest is not among the files: writers of archives and
    snapshots store it themselves."""

    folder: Path
    manifest: BackupManifest


def go_on() -> None:
    """For whoever has nothing to do once a vault was copied."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What was copied."""

    notes: NotesCopy
    history: list[ManifestMember]
    made_at: str


def stage(
    subject: BackupSubject, scratch: Path, pace: Pace | None = None, then: Callable[[], object] = go_on
) -> StagedBackup:
    """Copy the vault into ``scratch``, an empty private folder, and call ``then`` once nothing of the vault is read any
    more. Blocking; holds up no writer. Raises ``Conflict`` where somebody wants the vault's folder alone,
    ``VaultQuarantined`` for a damaged vault, ``VaultUnavailable``, ``StorageFull``, ``ReadOnly``, ``Cancelled``."""
    pace = pace or Pace()
    with held_open(subject.folder, pace) as copying:
        copied = _copy_own(subject, scratch, copying)
    then()
    return _finish(subject, copied, scratch, pace)


def stage_alone(subject: BackupSubject, scratch: Path, pace: Pace | None = None) -> StagedBackup:
    """``stage`` for a caller who has the vault's folder alone."""
    pace = pace or Pace()
    return _finish(subject, _copy_own(subject, scratch, pace), scratch, pace)


def stage_around(database: Path, subject: BackupSubject, scratch: Path, pace: Pace | None = None) -> StagedBackup:
    """``stage`` with another database of this vault in the place of its own, and everything else as it is now."""
    pace = pace or Pace()
    with held_open(subject.folder, pace) as copying:
        copied = _copy_all(subject, database, scratch, copying)
    return _finish(subject, copied, scratch, pace)


def _copy_own(subject: BackupSubject, scratch: Path, pace: Pace) -> _Moment:
    live = subject.folder / DATABASE_FILE
    database_checks.file_identity(live, subject.entry.name)
    if database_checks.is_marked_damaged(live):
        raise damaged_error()
    return _copy_all(subject, live, scratch, pace)


def _copy_all(subject: BackupSubject, live: Path, scratch: Path, pace: Pace) -> _Moment:
    with translate_scratch_errors():
        require_room(scratch, measure(subject, live).size, subject.storage, "a copy for the backup")
        root, notes, copy = notes_root(subject.entry, subject.folder), scratch / NOTES, scratch / VAULT_DATABASE
        with open_snapshot(live, subject.storage) as snapshot:
            first = notes_at_moment.first_unsettled(snapshot.reader)
            copied = _copy_notes(subject, root, notes, pace)
            snapshot.take()
            made_at = clock.now()
            snapshot.copy_to(copy, pace)
        with open_copy(copy) as tx:
            tree = Tree(root)
            notes_at_moment.settle(tx, first, copied, notes, lambda path: _read_now(tree, path))
        return _Moment(copied, copy_history(subject.folder, scratch / HISTORY, pace), made_at)


def _finish(subject: BackupSubject, moment: _Moment, scratch: Path, pace: Pace) -> StagedBackup:
    """Check what was copied, hash it and describe it, all at once: each takes as long as the copy did."""
    copy, settings = scratch / VAULT_DATABASE, scratch / SETTINGS
    with translate_scratch_errors(), ThreadPoolExecutor(2, thread_name_prefix="backup-check") as beside:
        checked = beside.submit(refuse_damaged, copy, pace)
        hashed = beside.submit(hash_file, copy, VAULT_DATABASE, pace)
        settings.write_text(subject.record.model_dump_json(indent=1), encoding="utf-8")
        try:
            with open_copy(copy) as tx:
                _refuse_foreign(tx, subject)
                described = _describe(tx, subject, moment)
        except Exception:
            checked.result()  # what is damaged is called that, whatever stumbled over it first
            raise
        checked.result()
        members = (
            hashed.result(),
            hash_file(settings, SETTINGS, pace),
            *moment.history,
            *(each for _, each in sorted(moment.notes.members.items())),
        )
        return StagedBackup(scratch, described.model_copy(update={"members": members}))


def _copy_notes(subject: BackupSubject, root: Path, into: Path, pace: Pace) -> NotesCopy:
    if subject.entry.path is not None:
        settings = subject.notes
        return copy_served(root, into, exclude=settings.exclude, policies=settings.policies, pace=pace)
    if not root.exists() and not _had_notes(subject):
        return NotesCopy()
    return copy_folder(root, into, pace)


def _had_notes(subject: BackupSubject) -> bool:
    """Whether the vault once had a folder of notes: if it is gone now, that is a fault and no empty folder."""
    with open_snapshot(subject.folder / DATABASE_FILE, subject.storage) as snapshot:
        return snapshot.reader.one("SELECT 1 FROM vault_info WHERE key = 'notes'") is not None


def _read_now(tree: Tree, path: str) -> bytes | None:
    with suppress(NotFound, InvalidArgument, TooLarge, ReadOnly):
        return tree.read(path, MAX_NOTE).data
    return None


def _refuse_foreign(tx: Reader, subject: BackupSubject) -> None:
    if tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'") != subject.entry.vault_id:
        raise VaultQuarantined(f"the files of vault {subject.entry.name} belong to another vault", reason="foreign")


def _describe(tx: Reader, subject: BackupSubject, moment: _Moment) -> BackupManifest:
    """The manifest, without its members."""
    return BackupManifest(
        kind="vault",
        installation=subject.installation,
        vault=subject.entry.name,
        vault_id=subject.entry.vault_id,
        made_at=moment.made_at,
        version=subject.version,
        schema_steps=contents.schema_steps(tx),
        position=tx.version(),
        note_change=notes_at_moment.last_change(tx),
        in_place=subject.entry.path is not None,
        counts=contents.count_rows(tx, "vault"),
        ids_digest=contents.digest_ids(tx, "vault"),
        questions=questions.choose(tx),
        remarks=tuple(moment.notes.remarks),
        remark_count=moment.notes.remark_count,
        members=(),
    )

"""A backup of the installation itself: control.db, keys, the audit, licence and settings.

Whoever holds the keys can sign tokens for every vault, so they only ever stand in an encrypted archive.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from auth.keys import KEYS_FOLDER
from ops.audit import chain_files
from ops.backup import contents
from ops.backup.archive_writer import Seal
from ops.backup.file_copy import NotAFile, copy_file, hash_file
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.member_paths import AUDIT, CONTROL_DATABASE, KEYS, LICENCE, SETTINGS_FILE
from ops.backup.pace import Pace
from ops.backup.staging import StagedBackup
from ops.backup.target_errors import translate_scratch_errors
from vaults import clock
from vaults.db.database_copy import open_copy, open_snapshot, refuse_damaged, size_of
from vaults.disk_reserve import require_room
from vaults.errors import InvalidArgument
from vaults.settings import StorageSettings


@dataclass(frozen=True, slots=True)
class ControlSubject:
    """``config``: the settings file in use, wherever it lies; ``installation``: the id of this one."""

    data: Path
    config: Path
    installation: str
    version: str
    storage: StorageSettings


def require_encryption(seal: Seal) -> None:
    """Raise ``InvalidArgument`` for a seal that leaves keys to be read."""
    if not seal.encrypts:
        raise InvalidArgument(
            "--control",
            "holds keys, which are only backed up encrypted",
            hint="give --recipient or --passphrase-file, or set backup.recipients",
        )


def stage_control(subject: ControlSubject, scratch: Path, pace: Pace | None = None) -> StagedBackup:
    """Copy the installation into ``scratch``, an empty private folder. Blocking."""
    pace = pace or Pace()
    with translate_scratch_errors():
        require_room(scratch, _size_of(subject), subject.storage, "a copy for the backup")
        return _stage(subject, scratch, pace)


def _size_of(subject: ControlSubject) -> int:
    """Bytes of the databases; the rest is little."""
    chains = (chain_files.file_of(subject.data, name) for name in chain_files.list_chains(subject.data))
    return size_of(subject.data / CONTROL_DATABASE) + sum(size_of(each) for each in chains)


def _stage(subject: ControlSubject, scratch: Path, pace: Pace) -> StagedBackup:
    copy = scratch / CONTROL_DATABASE
    with open_snapshot(subject.data / CONTROL_DATABASE, subject.storage) as snapshot:
        snapshot.take()
        made_at = clock.now()
        snapshot.copy_to(copy, pace)
    refuse_damaged(copy, pace)
    members = [hash_file(copy, CONTROL_DATABASE, pace)]
    members += _copy_keys(subject.data / KEYS_FOLDER, scratch / KEYS, pace)
    members += _copy_audit(subject, scratch / AUDIT, pace)
    members += _copy_one(subject.data / LICENCE, scratch / LICENCE, LICENCE, pace)
    members += _copy_one(subject.config, scratch / SETTINGS_FILE, SETTINGS_FILE, pace)
    with open_copy(copy) as tx:
        manifest = BackupManifest(
            kind="control",
            installation=subject.installation,
            made_at=made_at,
            version=subject.version,
            schema_steps=contents.schema_steps(tx),
            position=tx.version(),
            counts=contents.count_rows(tx, "control"),
            ids_digest=contents.digest_ids(tx, "control"),
            members=tuple(members),
        )
    return StagedBackup(scratch, manifest)


def _copy_audit(subject: ControlSubject, into: Path, pace: Pace) -> list[ManifestMember]:
    """Every chain: who did what must outlast the disk it was done on, and no vault's backup has it."""
    members = []
    for name in chain_files.list_chains(subject.data):
        into.mkdir(mode=0o700, exist_ok=True)
        copy = into / f"{name}.db"
        with open_snapshot(chain_files.file_of(subject.data, name), subject.storage) as snapshot:
            snapshot.take()
            snapshot.copy_to(copy, pace)
        refuse_damaged(copy, pace)
        members.append(hash_file(copy, f"{AUDIT}/{name}.db", pace))
    return members


def _copy_keys(folder: Path, into: Path, pace: Pace) -> list[ManifestMember]:
    if not folder.is_dir():
        return []
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208  names, not paths
    return [member for name in names for member in _copy_one(folder / name, into / name, f"{KEYS}/{name}", pace)]


def _copy_one(path: Path, to: Path, member: str, pace: Pace) -> list[ManifestMember]:
    """The file as a member; none where there is no such file."""
    try:
        descriptor = os.open(path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        # An operator may keep settings and licence elsewhere and have a link here.
        return [copy_file(descriptor, path.resolve().name, to, member, pace)]
    except (FileNotFoundError, NotAFile):
        return []
    finally:
        os.close(descriptor)

"""One backup of control.db and the keys into a store: an encrypted archive as one object, and the rotation after it.

::

    control/<number>-<time>.tar.zst.age
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ops.backup.archive_writer import write_archive
from ops.backup.control_archive import ControlSubject, require_encryption, stage_control
from ops.backup.pace import Pace
from ops.backup.rotation import RotationPlan, choose_kept
from ops.backup.snapshot_name import SnapshotName, compact_moment, parse_name
from ops.backup.snapshot_run import SnapshotOrder
from ops.backup.store import BackupStore, not_kept_error
from ops.backup.target_errors import translate_scratch_errors
from vaults.files.scratch_folders import scratch_folder

FOLDER = "control"
_SUFFIX = ".tar.zst.age"


@dataclass(frozen=True, slots=True)
class ControlRun:
    """``key``: of the archive in its store; ``size``: bytes of what was backed up; ``moved``: sent to the store."""

    key: str
    size: int
    moved: int
    position: int


def make_control_backup(order: SnapshotOrder, subject: ControlSubject, pace: Pace) -> ControlRun:
    """Copy, encrypt, store, look whether it is there, and only then let older ones go. Blocking. Raises
    ``InvalidArgument`` unless it is encrypted, and what a store raises; the caller has the turn."""
    require_encryption(order.seal)
    store = order.store
    with translate_scratch_errors(), store.hold(FOLDER), scratch_folder(order.scratch) as scratch:
        staged = stage_control(subject, scratch, Pace(stopped=pace.stopped))
        with scratch_folder(order.scratch) as folder:
            archive = write_archive(staged, folder, order.seal, Pace(stopped=pace.stopped))
            earlier = list_control_backups(store)
            number = max((each.number for each in earlier), default=0) + 1
            name = SnapshotName(number, compact_moment(staged.manifest.made_at))
            _send(archive.path, control_key(name), store)
        pace.spend(archive.size)
        _rotate([*earlier, name], order.plan, store)
    return ControlRun(control_key(name), staged.manifest.size, archive.size, staged.manifest.position)


def _send(archive: Path, key: str, store: BackupStore) -> None:
    """Store the archive, which holds every audit and may be large, and look whether it is there."""
    store.create_file(key, archive)
    with archive.open("rb") as file:
        sent = hashlib.file_digest(file, "sha256").digest()
    if store.digest(key) != sent:
        store.delete([key])
        raise not_kept_error(store)


def control_key(name: SnapshotName) -> str:
    return f"{FOLDER}/{str(name).removesuffix('.snapshot')}{_SUFFIX}"


def list_control_backups(store: BackupStore) -> list[SnapshotName]:
    """Those there are, newest first."""
    files = (each.key.rpartition("/")[2] for each in store.list_objects(FOLDER))
    found = (parse_name(f"{file.removesuffix(_SUFFIX)}.snapshot") for file in files if file.endswith(_SUFFIX))
    return sorted((name for name in found if name is not None), reverse=True)


def _rotate(there: list[SnapshotName], plan: RotationPlan, store: BackupStore) -> None:
    kept = choose_kept(there, plan)
    store.delete([control_key(name) for name in there if name not in kept])

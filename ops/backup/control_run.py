"""One backup of control.db and the keys into a store: an encrypted archive as one object, and the rotation after it.

::

    control/<number>-<time>.tar.zst.age
"""

from __future__ import annotations

from dataclasses import dataclass

from ops.backup.archive_writer import write_archive
from ops.backup.control_archive import ControlSubject, require_encryption, stage_control
from ops.backup.pace import Pace
from ops.backup.rotation import RotationPlan, choose_kept
from ops.backup.scratch import scratch_folder, turn
from ops.backup.snapshot_name import SnapshotName, compact_moment, parse_name
from ops.backup.snapshot_run import SnapshotOrder
from ops.backup.store import BackupStore, not_kept_error

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
    ``InvalidArgument`` unless it is encrypted, ``Conflict`` where another makes one, and what a store raises."""
    require_encryption(order.seal)
    store = order.store
    with turn(order.scratch, FOLDER), store.hold(FOLDER), scratch_folder(order.scratch) as scratch:
        staged = stage_control(subject, scratch, Pace(stopped=pace.stopped))
        with scratch_folder(order.scratch) as folder:
            data = write_archive(staged, folder, order.seal, Pace(stopped=pace.stopped)).path.read_bytes()
        earlier = list_control_backups(store)
        number = max((each.number for each in earlier), default=0) + 1
        name = SnapshotName(number, compact_moment(staged.manifest.made_at))
        store.create(control_key(name), data)
        pace.spend(len(data))
        if store.get(control_key(name)) != data:
            store.delete([control_key(name)])
            raise not_kept_error(store)
        _rotate([*earlier, name], order.plan, store)
    return ControlRun(control_key(name), staged.manifest.size, len(data), staged.manifest.position)


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

"""One backup of a vault into a store, from its copy to the rotation after it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ops.backup.archive_writer import Seal
from ops.backup.chunk_collection import Rotation, rotate
from ops.backup.pace import Pace
from ops.backup.rotation import RotationPlan
from ops.backup.sent_pieces import remember_sent
from ops.backup.snapshot_writer import SnapshotCourse, WrittenSnapshot, write_snapshot
from ops.backup.snapshots import folder_key
from ops.backup.staging import stage
from ops.backup.store import BackupStore
from ops.backup.subject import BackupSubject
from ops.backup.target_errors import translate_scratch_errors
from vaults.errors import StrongroomError
from vaults.files.scratch_folders import scratch_folder


@dataclass(frozen=True, slots=True)
class SnapshotOrder:
    """How backups are made. ``names``: the secret of names where pieces are encrypted; ``scratch``: where the copy is
    made."""

    store: BackupStore
    seal: Seal
    names: bytes | None
    plan: RotationPlan
    scratch: Path


@dataclass(frozen=True, slots=True)
class SnapshotRun:
    """``rotation``: what went after it; or why nothing did, which leaves a good backup good."""

    written: WrittenSnapshot
    position: int
    rotation: Rotation | StrongroomError


def make_snapshot(order: SnapshotOrder, subject: BackupSubject, pace: Pace) -> SnapshotRun:
    """Copy the vault, check the copy, store it, look whether it is there, and only then let older ones go. Blocking;
    the caller has the vault's turn. Raises what ``stage`` and ``write_snapshot`` raise, and ``Conflict`` where another
    installation backs it up there."""
    vault_id = subject.entry.vault_id
    # The bound is for what goes to the target. The copy holds a read transaction and is to be over soon.
    unbound = Pace(stopped=pace.stopped)
    with (
        translate_scratch_errors(),
        order.store.hold(folder_key(vault_id)),
        scratch_folder(order.scratch) as scratch,
    ):
        staged = stage(subject, scratch, unbound)
        with remember_sent(order.scratch / f"sent-{vault_id}", order.store.name) as sent:
            course = SnapshotCourse(pace, sent)
            written = write_snapshot(order.store, vault_id, staged, seal=order.seal, names=order.names, course=course)
        try:
            rotation: Rotation | StrongroomError = rotate(
                order.store, vault_id, order.plan, written.name, written.heads
            )
        except StrongroomError as failure:
            rotation = failure
    return SnapshotRun(written, staged.manifest.position, rotation)

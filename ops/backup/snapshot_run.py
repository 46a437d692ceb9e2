"""One backup of a vault into a store, from its copy to the rotation after it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ops.backup.archive_writer import Seal
from ops.backup.chunk_collection import Rotation, rotate
from ops.backup.pace import Pace
from ops.backup.rotation import RotationPlan
from ops.backup.scratch import scratch_folder, turn
from ops.backup.snapshot_writer import WrittenSnapshot, write_snapshot
from ops.backup.snapshots import folder_key
from ops.backup.staging import stage
from ops.backup.store import BackupStore
from ops.backup.subject import BackupSubject
from vaults.errors import StrongroomError


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
    raises what ``stage`` and ``write_snapshot`` raise, and ``Conflict`` where another backs it up."""
    vault_id = subject.entry.vault_id
    # The bound is for what goes to the target. The copy holds a read transaction and is to be over soon.
    unbound = Pace(stopped=pace.stopped)
    with (
        turn(order.scratch, vault_id),
        order.store.hold(folder_key(vault_id)),
        scratch_folder(order.scratch) as scratch,
    ):
        staged = stage(subject, scratch, unbound)
        written = write_snapshot(order.store, vault_id, staged, seal=order.seal, names=order.names, pace=pace)
        try:
            rotation: Rotation | StrongroomError = rotate(order.store, vault_id, order.plan, written.name)
        except StrongroomError as failure:
            rotation = failure
    return SnapshotRun(written, staged.manifest.position, rotation)

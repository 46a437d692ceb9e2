"""Taking backups away: snapshots that a plan lets go, and pieces that no snapshot names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from ops.backup.rotation import RotationPlan, choose_kept
from ops.backup.snapshot_file import SnapshotHead
from ops.backup.snapshot_name import SnapshotName
from ops.backup.snapshots import chunk_key, list_snapshots, read_head, snapshot_key, stored_chunks
from ops.backup.store import BackupStore


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation took away."""

    snapshots: tuple[SnapshotName, ...]
    chunks: int
    freed: int


def rotate(
    store: BackupStore,
    vault_id: str,
    plan: RotationPlan,
    newest: SnapshotName,
    known: Mapping[SnapshotName, SnapshotHead] = MappingProxyType({}),
) -> Rotation:
    """Remove what the plan lets go. Blocking; the caller holds the vault's part of the store, and has just written and
    verified ``newest``: nothing goes where that is not there. ``known``: heads that were read already; a snapshot never
    changes.

    Every other snapshot is read first, and where one cannot be, nothing is removed: it may name any piece, and that it
    cannot be read may pass. A snapshot goes before the pieces it alone named, so a kill between leaves pieces too many.
    """
    there = list_snapshots(store, vault_id)
    if newest not in there:
        return Rotation((), 0, 0)
    heads = {name: known.get(name) or read_head(store, vault_id, name) for name in there}
    kept = choose_kept(there, plan) | {newest}
    gone = [name for name in there if name not in kept]
    store.delete([snapshot_key(vault_id, name) for name in gone])
    # Where nothing keeps a backup elsewhere out, it may be about to name what it found named: that goes the next time.
    lasting = heads if store.grace_s else kept
    unnamed = _unnamed(store, vault_id, {chunk for name in lasting for chunk, _ in heads[name].chunks}, newest)
    for name in list_snapshots(store, vault_id):
        if name not in heads:  # it came meanwhile
            for chunk, _ in read_head(store, vault_id, name).chunks:
                unnamed.pop(chunk, None)
    store.delete([chunk_key(vault_id, name) for name in unnamed])
    return Rotation(tuple(gone), len(unnamed), sum(unnamed.values()))


def _unnamed(store: BackupStore, vault_id: str, named: set[str], newest: SnapshotName) -> dict[str, int]:
    """Name and size of pieces that may go. How old they are is told by the store's clock alone, as it was when it took
    the newest snapshot."""
    last = store.find(snapshot_key(vault_id, newest))
    if last is None:
        return {}
    before: datetime = last.written_at - timedelta(seconds=store.grace_s)
    return {
        name: each.size
        for name, each in stored_chunks(store, vault_id).items()
        if name not in named and (not store.grace_s or each.written_at < before)
    }

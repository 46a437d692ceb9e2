"""A staged backup as a snapshot: the pieces a store lacks, and last, at once, the file that names all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ops.backup.archive_writer import OPEN, Seal
from ops.backup.chunks import Chunk, cut, name_of
from ops.backup.manifest import to_bytes
from ops.backup.pace import Pace
from ops.backup.sealing import close
from ops.backup.signature import sign_manifest
from ops.backup.snapshot_file import MemberPlace, SnapshotBody, pack_snapshot
from ops.backup.snapshot_name import SnapshotName, compact_moment
from ops.backup.snapshots import chunk_key, list_snapshots, read_head, snapshot_key, stored_chunks
from ops.backup.staging import StagedBackup
from ops.backup.store import BackupStore, not_kept_error
from vaults.errors import InvalidArgument, NotFound, VaultQuarantined


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """``size``: bytes of what was backed up; ``moved``: bytes sent to the store; ``chunks``: pieces, of which ``sent``
    were not there."""

    name: SnapshotName
    size: int
    moved: int
    chunks: int
    sent: int


def write_snapshot(
    store: BackupStore,
    vault_id: str,
    staged: StagedBackup,
    *,
    seal: Seal = OPEN,
    names: bytes | None = None,
    pace: Pace | None = None,
) -> WrittenSnapshot:
    """Store a snapshot and look whether it is there. Blocking; the caller holds the vault's part of the store.
    ``names``: the secret that names of pieces are made with, needed where they are encrypted. What fails publishes
    nothing, and pieces that were sent by then are cleared away by a later one. Raises ``StorageFull``, ``ReadOnly``,
    ``Forbidden``, ``VaultUnavailable``, ``InvalidArgument``, ``Cancelled``."""
    if seal.passphrase is not None or bool(seal.recipients) != (names is not None):
        raise InvalidArgument("backup.recipients", "are what snapshots are encrypted with; a passphrase is for people")
    earlier = list_snapshots(store, vault_id)
    sending = _Sending(store, vault_id, seal.recipients, names, pace or Pace(), _reliable(store, vault_id, earlier))
    places = sending.send_all(staged)
    sending.check()
    name = SnapshotName(max((each.number for each in earlier), default=0) + 1, compact_moment(staged.manifest.made_at))
    sending.publish(name, staged, places, seal)
    return WrittenSnapshot(name, staged.manifest.size, sending.moved, len(sending.chunks), len(sending.sent))


def _reliable(store: BackupStore, vault_id: str, earlier: list[SnapshotName]) -> dict[str, int]:
    """Stored bytes of the pieces that need not be sent: a snapshot names them, so nobody clears them away, and they are
    there in full. Other pieces are of a backup that failed, and may be going."""
    named: dict[str, int] = {}
    for each in earlier:
        with suppress(InvalidArgument, VaultQuarantined, NotFound):  # what cannot be read vouches for nothing
            named.update(read_head(store, vault_id, each).chunks)
    there = stored_chunks(store, vault_id)
    return {chunk: size for chunk, size in named.items() if chunk in there and there[chunk].size == size}


@dataclass(slots=True)
class _Sending:
    store: BackupStore
    vault_id: str
    recipients: tuple[str, ...]
    names: bytes | None
    pace: Pace
    reliable: Mapping[str, int]
    moved: int = 0
    chunks: dict[str, int] = field(default_factory=dict)  # name → number, in the order of numbers
    stored: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    sent: dict[str, bytes] = field(default_factory=dict)  # name → hash of what was sent

    def send_all(self, staged: StagedBackup) -> tuple[MemberPlace, ...]:
        members = staged.manifest.members
        pieces: dict[int, list[int]] = {}
        offsets: dict[int, int] = {}
        for chunk in cut(members, lambda path: (staged.folder / path).open("rb")):
            number = self._send(chunk)
            offset = 0
            for member in chunk.members:
                pieces.setdefault(member, []).append(number)
                offsets.setdefault(member, offset)
                offset += members[member].size
        self.store.settle()
        return tuple(
            MemberPlace(chunks=tuple(pieces.get(number, ())), offset=offsets.get(number, 0))
            for number in range(len(members))
        )

    def _send(self, chunk: Chunk) -> int:
        name = name_of(chunk.data, self.names)
        if name in self.chunks:
            return self.chunks[name]
        size = self.reliable.get(name)
        if size is None:
            stored = close(chunk.data, self.recipients)
            self.store.put(chunk_key(self.vault_id, name), stored)
            self.sent[name] = hashlib.sha256(stored).digest()
            size = len(stored)
            self.moved += size
            self.pace.spend(size)
        self.pace.check()
        number = self.chunks[name] = len(self.chunks)
        self.stored.append(size)
        self.sizes.append(len(chunk.data))
        self.hashes.append(hashlib.sha256(chunk.data).hexdigest())
        return number

    def check(self) -> None:
        """Read back what was sent, and look whether every piece is there in full."""
        for name, digest in self.sent.items():
            stored = self.store.get(chunk_key(self.vault_id, name))
            if hashlib.sha256(stored).digest() != digest:
                raise not_kept_error(self.store)
            self.pace.spend(len(stored))
        there = stored_chunks(self.store, self.vault_id)
        for name, size in zip(self.chunks, self.stored, strict=True):
            if name not in there or there[name].size != size:
                raise not_kept_error(self.store)

    def publish(self, name: SnapshotName, staged: StagedBackup, places: tuple[MemberPlace, ...], seal: Seal) -> None:
        manifest = to_bytes(staged.manifest)
        body = SnapshotBody(
            manifest=manifest.decode(),
            signature=sign_manifest(manifest, seal.key).decode() if seal.key else None,
            sizes=tuple(self.sizes),
            hashes=tuple(self.hashes),
            places=places,
        )
        chunks = tuple(zip(self.chunks, self.stored, strict=True))
        data = pack_snapshot(name.number, chunks, body, self.recipients)
        key = snapshot_key(self.vault_id, name)
        self.store.create(key, data)
        self.moved += len(data)
        if self.store.get(key) != data:
            self.store.delete([key])
            raise not_kept_error(self.store)

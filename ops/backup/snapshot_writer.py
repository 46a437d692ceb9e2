"""A staged backup as a snapshot: the pieces a store lacks, and last, at once, the file that names all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from ops.backup.archive_writer import OPEN, Seal
from ops.backup.chunks import cut, name_of
from ops.backup.manifest import to_bytes
from ops.backup.pace import Pace
from ops.backup.sealing import close
from ops.backup.sent_pieces import SentPieces
from ops.backup.signature import sign_manifest
from ops.backup.snapshot_file import MemberPlace, SnapshotBody, SnapshotHead, pack_snapshot
from ops.backup.snapshot_name import SnapshotName, compact_moment
from ops.backup.snapshots import chunk_key, list_snapshots, read_head, snapshot_key, stored_chunks
from ops.backup.staging import StagedBackup
from ops.backup.store import BackupStore, StoredObject, not_kept_error
from ops.backup.transfers import in_parallel
from vaults.errors import AlreadyExists, InvalidArgument, NotFound, VaultQuarantined


@dataclass(frozen=True, slots=True)
class SnapshotCourse:
    """How a snapshot is sent. ``sent``: what a backup that was cut off had sent."""

    pace: Pace = field(default_factory=Pace)
    sent: SentPieces = field(default_factory=SentPieces)


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """``size``: bytes of what was backed up; ``moved``: bytes sent to the store; ``chunks``: pieces, of which ``sent``
    were not there; ``heads``: of the snapshots before it, as far as they could be read."""

    name: SnapshotName
    size: int
    moved: int
    chunks: int
    sent: int
    heads: Mapping[SnapshotName, SnapshotHead] = field(default_factory=dict, repr=False)


def write_snapshot(
    store: BackupStore,
    vault_id: str,
    staged: StagedBackup,
    *,
    seal: Seal = OPEN,
    names: bytes | None = None,
    course: SnapshotCourse | None = None,
) -> WrittenSnapshot:
    """Store a snapshot and look whether it is there. Blocking; the caller holds the vault's part of the store.
    ``names``: the secret that names of pieces are made with, needed where they are encrypted. What fails publishes
    nothing. Raises ``StorageFull``, ``ReadOnly``, ``Forbidden``, ``VaultUnavailable``, ``InvalidArgument``,
    ``Cancelled``."""
    if seal.passphrase is not None or bool(seal.recipients) != (names is not None):
        raise InvalidArgument("backup.recipients", "are what snapshots are encrypted with; a passphrase is for people")
    earlier = list_snapshots(store, vault_id)
    course = course or SnapshotCourse()
    there = stored_chunks(store, vault_id)
    heads = _read_heads(store, vault_id, earlier)
    reliable = _reliable(heads.values(), there) | _sent_before(store, course.sent, there)
    sending = _Sending(store, vault_id, seal.recipients, names, course, reliable)
    places = sending.send_all(staged)
    sending.check()
    name = SnapshotName(max((each.number for each in earlier), default=0) + 1, compact_moment(staged.manifest.made_at))
    sending.publish(name, staged, places, seal)
    return WrittenSnapshot(name, staged.manifest.size, sending.moved, len(sending.chunks), sending.count, heads)


def _read_heads(store: BackupStore, vault_id: str, earlier: Iterable[SnapshotName]) -> dict[SnapshotName, SnapshotHead]:
    found: dict[SnapshotName, SnapshotHead] = {}
    for each in earlier:
        with suppress(InvalidArgument, VaultQuarantined, NotFound):  # what cannot be read vouches for nothing
            found[each] = read_head(store, vault_id, each)
    return found


def _reliable(heads: Iterable[SnapshotHead], there: Mapping[str, StoredObject]) -> dict[str, int]:
    """Stored bytes of the pieces that a snapshot names and that are there in full: nobody clears these away."""
    named: dict[str, int] = {}
    for head in heads:
        named.update(head.chunks)
    return {chunk: size for chunk, size in named.items() if chunk in there and there[chunk].size == size}


def _sent_before(store: BackupStore, sent: SentPieces, there: Mapping[str, StoredObject]) -> dict[str, int]:
    """The same of the pieces that a backup sent which was cut off. Where nothing keeps another installation from
    clearing them away, only those that it leaves alone until long after this backup."""
    oldest = datetime.now(UTC) - timedelta(seconds=store.grace_s / 2)  # a bucket refuses whoever's clock is far off
    return {
        name: there[name].size
        for name in sent.known
        if name in there and (not store.grace_s or there[name].written_at > oldest)
    }


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece that the store lacks."""

    name: str
    number: int
    data: bytes


@dataclass(slots=True)
class _Sending:
    store: BackupStore
    vault_id: str
    recipients: tuple[str, ...]
    names: bytes | None
    course: SnapshotCourse
    reliable: Mapping[str, int]
    moved: int = 0
    count: int = 0
    chunks: dict[str, int] = field(default_factory=dict)  # name → number, in the order of numbers
    stored: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    unproven: dict[str, str] = field(default_factory=dict)  # name → hash of what was sent, now or before
    places: list[list[int]] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)

    def send_all(self, staged: StagedBackup) -> tuple[MemberPlace, ...]:
        self.places = [[] for _ in staged.manifest.members]
        for piece, size, digest in in_parallel(self._send, self._lacking(staged)):
            self.stored[piece.number] = size
            self.unproven[piece.name] = digest
            self.course.sent.add(piece.name, digest)
            self.moved += size
            self.count += 1
            self.course.pace.spend(size)
        self.store.settle()
        return tuple(
            MemberPlace(chunks=tuple(chunks), offset=self.offsets.get(number, 0))
            for number, chunks in enumerate(self.places)
        )

    def _lacking(self, staged: StagedBackup) -> Iterator[_Piece]:
        """The pieces to send. Notes where each member's bytes are, of the others too."""
        members = staged.manifest.members
        for chunk in cut(members, lambda path: (staged.folder / path).open("rb")):
            self.course.pace.check()
            digest = hashlib.sha256(chunk.data)
            name = name_of(digest.digest(), self.names)
            number = self.chunks.get(name, len(self.chunks))
            is_new = number == len(self.chunks)
            offset = 0
            for member in chunk.members:
                self.places[member].append(number)
                self.offsets.setdefault(member, offset)
                offset += members[member].size
            if not is_new:
                continue
            self.chunks[name] = number
            self.sizes.append(len(chunk.data))
            self.hashes.append(digest.hexdigest())
            self.stored.append(self.reliable.get(name, 0))
            if name not in self.reliable:
                yield _Piece(name, number, chunk.data)
            elif name in self.course.sent.known:
                self.unproven[name] = self.course.sent.known[name]

    def _send(self, piece: _Piece) -> tuple[_Piece, int, str]:
        stored = close(piece.data, self.recipients)
        self.store.put(chunk_key(self.vault_id, piece.name), stored)
        return piece, len(stored), hashlib.sha256(stored).hexdigest()

    def check(self) -> None:
        """Read back what was sent, and look whether every piece is there in full."""
        for size in in_parallel(self._read_back, self.unproven.items()):
            self.course.pace.spend(size)
        there = stored_chunks(self.store, self.vault_id)
        for name, size in zip(self.chunks, self.stored, strict=True):
            if name not in there or there[name].size != size:
                self._refuse()

    def _read_back(self, sent: tuple[str, str]) -> int:
        name, digest = sent
        stored = self.store.get(chunk_key(self.vault_id, name))
        if hashlib.sha256(stored).hexdigest() != digest:
            self._refuse()
        return len(stored)

    def _refuse(self) -> NoReturn:
        self.course.sent.forget()
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
        try:
            self.store.create(key, data)
        except AlreadyExists:
            if self.store.get(key) != data:  # else ours: whoever lost the first answer and asked again hears this
                raise
        self.moved += len(data)
        if self.store.get(key) != data:
            self.store.delete([key])
            raise not_kept_error(self.store)

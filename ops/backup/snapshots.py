"""Snapshots in a store: their list, and reading one.

::

    vaults/<vault_id>/snapshots/<number>-<time>.snapshot
    vaults/<vault_id>/chunks/<first two of the name>/<name>

No two vaults share a piece: whoever may read one vault's backups learns nothing of another's by names they have in
common.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ops.backup.archive_reader import NO_KEYS, Opener
from ops.backup.manifest import BackupManifest, ManifestMember, from_bytes
from ops.backup.pace import Pace
from ops.backup.sealing import damaged, disclose
from ops.backup.signature import check_signature
from ops.backup.snapshot_file import (
    MemberPlace,
    SnapshotBody,
    SnapshotHead,
    unpack_body,
    unpack_head,
)
from ops.backup.snapshot_name import SnapshotName, parse_name
from ops.backup.source import everything
from ops.backup.store import BackupStore, StoredObject
from ops.backup.transfers import in_parallel
from vaults.errors import InvalidArgument, NotFound
from vaults.files.failures import translate_os_errors
from vaults.files.permissions import FILE_MODE, FOLDER_MODE

_CHUNK = re.compile(r"[0-9a-f]{64}", re.ASCII)
_VAULT = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def folder_key(vault_id: str) -> str:
    """The part of a store that is a vault's. Raises ``InvalidArgument`` for what cannot be an id."""
    if not _VAULT.fullmatch(vault_id):
        raise InvalidArgument("vault_id", "is none")
    return f"vaults/{vault_id}"


def chunk_key(vault_id: str, name: str) -> str:
    return f"{folder_key(vault_id)}/chunks/{name[:2]}/{name}"


def snapshot_key(vault_id: str, name: SnapshotName) -> str:
    return f"{folder_key(vault_id)}/snapshots/{name}"


def stored_chunks(store: BackupStore, vault_id: str) -> dict[str, StoredObject]:
    """Every piece there is, by its name."""
    found = ((each.key.rpartition("/")[2], each) for each in store.list_objects(f"{folder_key(vault_id)}/chunks"))
    return {name: each for name, each in found if _CHUNK.fullmatch(name)}


def list_snapshots(store: BackupStore, vault_id: str) -> list[SnapshotName]:
    """The snapshots of a vault, newest first."""
    found = (
        parse_name(each.key.rpartition("/")[2]) for each in store.list_objects(f"{folder_key(vault_id)}/snapshots")
    )
    return sorted((name for name in found if name is not None), reverse=True)


def read_head(store: BackupStore, vault_id: str, name: SnapshotName) -> SnapshotHead:
    """Which pieces a snapshot needs. Raises as ``unpack_head``, and ``NotFound``."""
    head, _ = unpack_head(store.get(snapshot_key(vault_id, name)))
    if head.number != name.number:
        raise damaged("has another's name")
    return head


def open_snapshot(store: BackupStore, vault_id: str, name: str, opener: Opener = NO_KEYS) -> SnapshotSource:
    """The snapshot of this name, or the newest for ``latest``. Raises ``NotFound``."""
    if name == "latest":
        there = list_snapshots(store, vault_id)
        parsed = there[0] if there else None
    else:
        parsed = parse_name(name)
    if parsed is None or store.find(snapshot_key(vault_id, parsed)) is None:
        raise NotFound(f"there is no such backup in {store.name}", hint="strongroom backup list shows them")
    return SnapshotSource(store, vault_id, parsed, opener)


class SnapshotSource:
    """A snapshot as a ``BackupSource``. ``signed_by``: the kid of the trusted key that signed it; set once the manifest
    was read."""

    def __init__(self, store: BackupStore, vault_id: str, name: SnapshotName, opener: Opener = NO_KEYS) -> None:
        self.name = name
        self.signed_by: str | None = None
        self._store, self._vault_id, self._opener = store, vault_id, opener

    def read_manifest(self) -> BackupManifest:
        return self._open()[2]

    def extract(
        self, into: Path, wanted: Callable[[str], bool] = everything, pace: Pace | None = None
    ) -> BackupManifest:
        pace = pace or Pace()
        head, body, manifest = self._open()
        pieces = _Pieces(self._store, self._vault_id, head, body, self._opener)
        for member, place in zip(manifest.members, body.places, strict=True):
            if wanted(member.path):
                _write_member(into, member, pieces.read(member, place), pace)
        return manifest

    def _open(self) -> tuple[SnapshotHead, SnapshotBody, BackupManifest]:
        head, stored = unpack_head(self._store.get(snapshot_key(self._vault_id, self.name)))
        body = unpack_body(head, stored, self._opener.identities)
        data = body.manifest.encode()
        self.signed_by = self._check_signature(data, body.signature)
        manifest = from_bytes(data)
        if len(body.places) != len(manifest.members) or manifest.vault_id != self._vault_id:
            raise damaged("does not agree with its manifest")
        return head, body, manifest

    def _check_signature(self, manifest: bytes, signature: str | None) -> str | None:
        kid = None if signature is None else check_signature(manifest, signature.encode(), self._opener.trusted)
        if kid is None and self._opener.signed_only:
            raise damaged("is not signed by a key that is trusted")
        return kid


class _Pieces:
    """Reads pieces, each compared with its hash, those of a large member several at a time; keeps the last that small
    members share."""

    def __init__(
        self, store: BackupStore, vault_id: str, head: SnapshotHead, body: SnapshotBody, opener: Opener
    ) -> None:
        self._store, self._vault_id, self._head, self._body = store, vault_id, head, body
        self._identities = opener.identities if head.encrypted else None
        self._last: tuple[int, bytes] = (-1, b"")

    def read(self, member: ManifestMember, place: MemberPlace) -> Iterator[bytes]:
        """The bytes of a member; fewer or more than it says only where the backup is damaged."""
        left, offset = member.size, place.offset
        several = in_parallel(self._fetch, place.chunks) if len(place.chunks) > 1 else map(self._piece, place.chunks)
        for whole in several:
            data = whole[offset : offset + left]
            left, offset = left - len(data), 0
            yield data

    def _piece(self, number: int) -> bytes:
        if number != self._last[0]:
            self._last = (number, self._fetch(number))
        return self._last[1]

    def _fetch(self, number: int) -> bytes:
        if number >= len(self._head.chunks):
            raise damaged("names a piece that it does not have")
        try:
            stored = self._store.get(chunk_key(self._vault_id, self._head.chunks[number][0]))
        except NotFound:
            raise damaged("misses a piece: it was removed from the store") from None
        data = disclose(stored, self._body.sizes[number], self._identities)
        if hashlib.sha256(data).hexdigest() != self._body.hashes[number]:
            raise damaged("holds a piece that is not what was written")
        return data


def _write_member(into: Path, member: ManifestMember, data: Iterator[bytes], pace: Pace) -> None:
    path = into / member.path  # the manifest's paths were checked: none climbs
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    digest, size = hashlib.sha256(), 0
    with translate_os_errors(member.path):
        path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as file:
            for part in data:
                digest.update(part)
                size += len(part)
                file.write(part)
                pace.spend(len(part))
    if size != member.size or digest.hexdigest() != member.sha256:
        raise damaged("holds a member that is not what was written")

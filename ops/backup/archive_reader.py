"""Reading an archive, and refusing a bad one whole.

Nothing in an archive is believed: the manifest says which files follow, in which order, how long they are and what they
hash to, and exactly that must stand there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ops.backup import manifest as manifests
from ops.backup import signature, tar_blocks
from ops.backup.archive_stream import ArchiveStream, open_stream
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.member_paths import MANIFEST, SIGNATURE
from ops.backup.pace import Pace
from ops.backup.source import everything
from vaults.errors import InvalidArgument, NotFound, StorageFull, VaultUnavailable
from vaults.files.atomic import write_all
from vaults.files.failures import disk_failure


@dataclass(frozen=True, slots=True)
class Opener:
    """What opens an archive. ``identities``: age secret keys (AGE-SECRET-KEY-1…); ``trusted``: public keys by kid that
    a signature is checked with; ``signed_only``: refuse an archive that none of these signed."""

    identities: tuple[str, ...] = ()
    passphrase: str | None = None
    trusted: Mapping[str, Ed25519PublicKey] = field(default_factory=dict)
    signed_only: bool = False


NO_KEYS = Opener()


class ArchiveSource:
    """An archive as a ``BackupSource``. ``signed_by``: the kid of the trusted key that signed it; set once the manifest
    was read."""

    def __init__(self, path: Path, opener: Opener = NO_KEYS) -> None:
        self.path = path
        self.signed_by: str | None = None
        self._opener = opener

    def read_manifest(self) -> BackupManifest:
        """What it says of itself; reads no further."""
        with self._opened() as stream:
            return self._read_head(stream).manifest

    def verify(self, look: Callable[[], object] = lambda: None) -> BackupManifest:
        """Read all of it and compare each byte with the manifest; writes nothing. ``look`` is called again and again
        and may raise."""
        return self._walk(lambda _: None, look=lambda _: look())

    def extract(
        self, into: Path, wanted: Callable[[str], bool] = everything, pace: Pace | None = None
    ) -> BackupManifest:
        """As ``BackupSource.extract``. All of the archive is read and compared, whatever is wanted."""

        def target(member: ManifestMember) -> Path | None:
            return into / member.path if wanted(member.path) else None

        return self._walk(target, lambda manifest: _require_room(into, manifest, wanted), (pace or Pace()).spend)

    def _walk(
        self,
        target: Callable[[ManifestMember], Path | None],
        before: Callable[[BackupManifest], None] = lambda _: None,
        look: Callable[[int], object] = lambda _: None,
    ) -> BackupManifest:
        with self._opened() as stream, ThreadPoolExecutor(1, thread_name_prefix="backup-hash") as beside:
            head = self._read_head(stream)
            before(head.manifest)
            read = head.following
            for member in head.manifest.members:
                expected = tar_blocks.header(member.path, member.size, head.at)
                if read + stream.read(len(expected) - len(read)) != expected:
                    raise InvalidArgument("archive", f"holds something else where {member.path} must stand")
                read = b""
                _copy_member(stream, member, target(member), beside, look)
            if read + stream.read(len(tar_blocks.END) - len(read)) != tar_blocks.END:
                raise InvalidArgument("archive", "holds more than its manifest names")
            stream.finish()
            return head.manifest

    @contextmanager
    def _opened(self) -> Iterator[ArchiveStream]:
        try:
            with (
                self.path.open("rb", buffering=0) as file,
                open_stream(file, identities=self._opener.identities, passphrase=self._opener.passphrase) as stream,
            ):
                yield stream
        except (FileNotFoundError, IsADirectoryError) as failure:
            raise NotFound("there is no such archive") from failure
        except OSError as failure:
            raise disk_failure(failure) or VaultUnavailable(
                "the archive cannot be read", hint="check the disk and its permissions", reason="target"
            ) from failure

    def _read_head(self, stream: ArchiveStream) -> _Head:
        size, at = tar_blocks.read_first(stream.read(tar_blocks.BLOCK), MANIFEST)
        if size > manifests.MAX_BYTES:
            raise InvalidArgument("archive", "has a manifest that is too large")
        stored = _read_padded(stream, size)
        manifest = manifests.from_bytes(stored)
        following = stream.read(tar_blocks.BLOCK)
        self.signed_by = None
        if following[: len(SIGNATURE) + 1] == SIGNATURE.encode() + b"\0":
            size, _ = tar_blocks.read_first(following, SIGNATURE)
            if size > signature.MAX_BYTES:
                raise InvalidArgument("archive", "has a signature that is none")
            self.signed_by = signature.check_signature(stored, _read_padded(stream, size), self._opener.trusted)
            following = b""
        if self._opener.signed_only and self.signed_by is None:
            raise InvalidArgument("archive", "is not signed by a key that is trusted here")
        return _Head(manifest, at, following)


@dataclass(frozen=True, slots=True)
class _Head:
    """What comes before the members. ``following``: the first block after it, if it was read."""

    manifest: BackupManifest
    at: int
    following: bytes


def open_archive(path: Path, opener: Opener = NO_KEYS) -> ArchiveSource:
    """The archive at ``path``. Raises ``NotFound``."""
    if not path.is_file():
        raise NotFound("there is no such archive")
    return ArchiveSource(path, opener)


def _read_padded(stream: ArchiveStream, size: int) -> bytes:
    data = stream.read(size + tar_blocks.padding(size))
    if any(data[size:]):
        raise InvalidArgument("archive", "is damaged")
    return data[:size]


def _copy_member(
    stream: ArchiveStream,
    member: ManifestMember,
    target: Path | None,
    beside: ThreadPoolExecutor,
    look: Callable[[int], object],
) -> None:
    """Read a member, compare it, and write it where it is wanted. The hash is computed beside."""
    digest, pending = hashlib.sha256(), Future[None]()
    pending.set_result(None)
    descriptor = None if target is None else _create(target)
    try:
        for piece in stream.take(member.size):
            look(len(piece))
            pending.result()
            pending = beside.submit(digest.update, piece)
            if descriptor is not None:
                write_all(descriptor, memoryview(piece))
        pending.result()
    finally:
        if descriptor is not None:
            os.close(descriptor)
    if digest.hexdigest() != member.sha256:
        raise InvalidArgument("archive", f"is damaged: {member.path} is not what the manifest says")
    if any(stream.read(tar_blocks.padding(member.size))):
        raise InvalidArgument("archive", "is damaged")


def _create(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _require_room(into: Path, manifest: BackupManifest, wanted: Callable[[str], bool]) -> None:
    size = sum(each.size for each in manifest.members if wanted(each.path))
    if shutil.disk_usage(into).free < size:
        raise StorageFull("there is no room for what the backup holds", hint="free space", needed_bytes=size)

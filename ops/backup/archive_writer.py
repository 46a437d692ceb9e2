"""One file of a staged backup: written aside, synced, read back, and only then given its name."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from auth.keys import SigningKey
from ops.backup import age_passphrase, encryption, signature, tar_blocks
from ops.backup.archive_names import name_of
from ops.backup.archive_reader import ArchiveSource
from ops.backup.manifest import MAX_BYTES, BackupManifest, ManifestMember, to_bytes
from ops.backup.member_paths import MANIFEST, SIGNATURE
from ops.backup.pace import Pace
from ops.backup.partial_files import PartialFile, open_partial
from ops.backup.staging import StagedBackup
from ops.backup.target_errors import translate_target_errors
from vaults.errors import Conflict, InvalidArgument, TooLarge, VaultUnavailable
from vaults.files.atomic import write_all
from vaults.files.disk_sync import WriteBehind

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdCompressor
else:
    from backports.zstd import CompressionParameter, ZstdCompressor

PIECE = 1 << 20
LEVEL = 1
THREADS = 2
MORE_NAMES = 60
"""Seconds after the real one that may stand in a name: two backups of one second are both kept."""


@dataclass(frozen=True, slots=True)
class Seal:
    """How an archive is closed. ``recipients``: age public keys; ``passphrase``: for people instead; ``key``: signs."""

    recipients: tuple[str, ...] = ()
    passphrase: str | None = None
    key: SigningKey | None = None

    @property
    def encrypts(self) -> bool:
        return bool(self.recipients) or self.passphrase is not None

    def check(self) -> None:
        """Raise ``InvalidArgument`` for what cannot be used, before anything is copied."""
        if self.recipients and self.passphrase is not None:
            raise InvalidArgument("passphrase", "and recipients exclude each other")
        if self.passphrase == "":
            raise InvalidArgument("passphrase", "is empty")
        if self.recipients:
            encryption.check_recipients(self.recipients)


OPEN = Seal()


@dataclass(frozen=True, slots=True)
class WrittenArchive:
    """An archive that was read back and published."""

    path: Path
    size: int


def write_archive(
    staged: StagedBackup,
    to: Path,
    seal: Seal = OPEN,
    pace: Pace | None = None,
) -> WrittenArchive:
    """Write an archive into the folder ``to``. Blocking. On any failure nothing is published and older archives stay.
    Raises ``StorageFull``, ``ReadOnly``, ``VaultUnavailable`` (reason ``target``), ``InvalidArgument``."""
    pace = pace or Pace()
    seal.check()
    name = name_of(staged.manifest, encrypted=seal.encrypts)
    with translate_target_errors(), open_partial(to, str(name)) as partial:
        written = _Written(partial, pace, hashlib.sha256() if seal.encrypts else None)
        _encrypt(_compressed(staged, seal), seal, written.write)
        partial.sync()
        _read_back(partial, written, staged.manifest, pace)
        for _ in range(MORE_NAMES):
            with suppress(FileExistsError):
                return WrittenArchive(partial.publish(str(name)), written.size)
            name = name.later()
    raise Conflict("there are archives of this vault for a minute from now already", hint="is the clock right?")


class _Written:
    """What was written. ``digest``: of an archive that cannot be opened when it is read back."""

    def __init__(self, partial: PartialFile, pace: Pace, digest: Any) -> None:
        self._partial = partial
        self._behind = WriteBehind(partial.descriptor)
        self._pace = pace
        self.size = 0
        self.digest = digest

    def write(self, data: bytes) -> None:
        write_all(self._partial.descriptor, memoryview(data))
        if self.digest is not None:
            self.digest.update(data)
        self.size += len(data)
        self._behind.note(len(data))
        self._pace.spend(len(data))


def _encrypt(plain: Iterator[bytes], seal: Seal, write: Callable[[bytes], None]) -> None:
    if seal.recipients:
        encryption.encrypt_for(plain, seal.recipients, write)
        return
    pieces = plain if seal.passphrase is None else age_passphrase.encrypt(plain, seal.passphrase)
    for piece in pieces:
        write(piece)


def _compressed(staged: StagedBackup, seal: Seal) -> Iterator[bytes]:
    compressor = ZstdCompressor(
        options={
            CompressionParameter.compression_level: LEVEL,
            CompressionParameter.nb_workers: THREADS,
            CompressionParameter.job_size: PIECE,
            CompressionParameter.checksum_flag: 1,
        }
    )
    for piece in _tar(staged, seal):
        if found := compressor.compress(piece):
            yield found
    yield compressor.flush()


def _tar(staged: StagedBackup, seal: Seal) -> Iterator[bytes | memoryview]:
    stored = to_bytes(staged.manifest)
    if len(stored) > MAX_BYTES:  # no reader would take it
        raise TooLarge(f"a backup can hold some 400,000 files, not {len(staged.manifest.members):,}")
    at = int(datetime.fromisoformat(staged.manifest.made_at).timestamp())
    yield from _small_member(MANIFEST, stored, at)
    if seal.key is not None:
        yield from _small_member(SIGNATURE, signature.sign_manifest(stored, seal.key), at)
    buffer = bytearray(PIECE)
    for member in staged.manifest.members:
        yield tar_blocks.header(member.path, member.size, at)
        # One that is encrypted cannot be opened when it is read back: of it what goes in is compared.
        pieces = _file_pieces(staged.folder / member.path, member.size, buffer)
        yield from _compared(pieces, member) if seal.encrypts else pieces
        yield bytes(tar_blocks.padding(member.size))
    yield tar_blocks.END


def _small_member(path: str, data: bytes, at: int) -> Iterator[bytes]:
    yield tar_blocks.header(path, len(data), at) + data + bytes(tar_blocks.padding(len(data)))


def _file_pieces(path: Path, size: int, buffer: bytearray) -> Iterator[memoryview]:
    left, view = size, memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while left:
            count = file.readinto(view[: min(left, PIECE)])
            if not count:
                raise VaultUnavailable("a staged file became shorter while it was written")
            left -= count
            yield view[:count]


def _compared(pieces: Iterator[memoryview], member: ManifestMember) -> Iterator[memoryview]:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != member.sha256:
        raise VaultUnavailable("a staged file changed while it was written", hint="check the disk", reason="disk")


def _read_back(partial: PartialFile, written: _Written, manifest: BackupManifest, pace: Pace) -> None:
    """Compare what is on the disk with what was meant to be there. An archive for the holders of keys cannot be opened
    here, so of it every byte is compared and not what it holds."""
    if written.digest is None:
        if ArchiveSource(partial.path).verify(pace.check) == manifest:
            return
    else:
        digest = hashlib.sha256()
        os.lseek(partial.descriptor, 0, os.SEEK_SET)
        while piece := os.read(partial.descriptor, PIECE):
            digest.update(piece)
            pace.check()
        if digest.digest() == written.digest.digest():
            return
    raise VaultUnavailable("the archive does not read back as it was written", hint="check the disk", reason="target")

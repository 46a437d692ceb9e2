"""One file of a staged backup: written aside, renamed, read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auth.keys import SigningKey
from ops.backup.pace import Pace
from ops.backup.staging import StagedBackup


@dataclass(frozen=True, slots=True)
class Seal:
    """How an archive is closed. ``recipients``: age public keys; ``passphrase``: for people instead; ``key``: signs."""

    recipients: tuple[str, ...] = ()
    passphrase: str | None = None
    key: SigningKey | None = None


OPEN = Seal()


@dataclass(frozen=True, slots=True)
class WrittenArchive:
    """An archive that was published and read back."""

    path: Path
    size: int


def write_archive(staged: StagedBackup, to: Path, seal: Seal = OPEN, pace: Pace | None = None) -> WrittenArchive:
    """Write an archive into the folder ``to``. Blocking. On any failure nothing is published and older archives stay.
    Raises ``StorageFull``, ``ReadOnly``, ``VaultUnavailable`` (reason ``target``), ``InvalidArgument``."""
    raise NotImplementedError

"""A vault's state at one moment, in a scratch folder: the members of a backup and its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ops.backup.manifest import BackupManifest
from ops.backup.pace import Pace
from ops.backup.subject import BackupSubject


@dataclass(frozen=True, slots=True)
class StagedBackup:
    """``folder``: holds each member at its path. The manifest is not among the files: writers of archives and
    snapshots store it themselves."""

    folder: Path
    manifest: BackupManifest


def stage(subject: BackupSubject, scratch: Path, pace: Pace | None = None) -> StagedBackup:
    """Copy the vault into ``scratch``, an empty private folder. Blocking; holds up no writer. Raises
    ``VaultQuarantined`` for a damaged vault, ``VaultUnavailable``, ``StorageFull``, ``ReadOnly``, ``Cancelled``."""
    raise NotImplementedError

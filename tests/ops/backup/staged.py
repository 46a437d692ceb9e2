"""Staged backups, read as they lie, and such made by hand: files in a folder and the manifest of them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.pace import Pace
from ops.backup.source import everything
from ops.backup.staging import StagedBackup

VAULT_ID = "0190a1b2-0000-7000-8000-000000000001"


@dataclass
class Staged:
    """A backup that lies in a folder: what archives and snapshots are read as, without their cost."""

    folder: Path
    manifest: BackupManifest

    def read_manifest(self) -> BackupManifest:
        return self.manifest

    def extract(
        self, into: Path, wanted: Callable[[str], bool] = everything, pace: Pace | None = None
    ) -> BackupManifest:
        for each in self.manifest.members:
            if wanted(each.path):
                (into / each.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.folder / each.path, into / each.path)
        return self.manifest

    def saying(self, **said: Any) -> Staged:
        """The same with a manifest that says otherwise."""
        return Staged(self.folder, self.manifest.model_copy(update=said))


def staged(folder: Path, files: Mapping[str, bytes], made_at: str = "2026-11-25T21:00:00Z") -> StagedBackup:
    """A backup of these files, below ``folder``."""
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    members = tuple(
        ManifestMember(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        for path, data in files.items()
    )
    manifest = BackupManifest(
        kind="vault", installation="i", vault="main", vault_id=VAULT_ID, made_at=made_at, version="0.1.0",
        schema_steps=15, counts={}, ids_digest="0" * 64, members=members,
    )  # fmt: skip
    return StagedBackup(folder, manifest)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

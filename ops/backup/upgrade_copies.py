"""A vault as it was before an upgrade, as a backup: the copy of its database that was kept then, and everything else as
it is now."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ops.backup import contents
from ops.backup.file_copy import hash_file
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import VAULT_DATABASE
from ops.backup.pace import Pace
from ops.backup.source import everything
from ops.backup.staging import stage_around
from ops.backup.subject import BackupSubject
from vaults import clock
from vaults.db.database_copy import open_copy
from vaults.errors import InvalidArgument

_NAME = re.compile(r"vault\.db\.before-[0-9]+", re.ASCII)


def is_upgrade_copy(path: Path) -> bool:
    """Whether a file is called as such copies are, and is there."""
    return _NAME.fullmatch(path.name) is not None and path.is_file()


def vault_of(path: Path) -> str:
    """The id of the vault that a copy is of. Raises ``InvalidArgument``."""
    with open_copy(path) as tx:
        found = tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'")
    if found is None:
        raise InvalidArgument("archive", "is no copy of a vault")
    return str(found)


@dataclass(frozen=True, slots=True)
class UpgradeCopySource:
    """A ``BackupSource``. ``subject``: the vault it is of, whose notes and history go along."""

    path: Path
    subject: BackupSubject

    def read_manifest(self) -> BackupManifest:
        """What the database says; the notes are not among its members yet."""
        with open_copy(self.path) as tx:
            return BackupManifest(
                kind="vault",
                installation=self.subject.installation,
                vault=self.subject.entry.name,
                vault_id=self.subject.entry.vault_id,
                made_at=clock.to_text(datetime.fromtimestamp(self.path.stat().st_mtime, UTC)),
                version=self.subject.version,
                schema_steps=contents.schema_steps(tx),
                counts=contents.count_rows(tx, "vault"),
                ids_digest=contents.digest_ids(tx, "vault"),
                members=(hash_file(self.path, VAULT_DATABASE, Pace()),),
            )

    def extract(
        self, into: Path, wanted: Callable[[str], bool] = everything, pace: Pace | None = None
    ) -> BackupManifest:
        """As ``BackupSource`` says; the vault is read for it."""
        staged = stage_around(self.path, self.subject, into, pace)
        for member in staged.manifest.members:
            if not wanted(member.path):
                (into / member.path).unlink()
        return staged.manifest.model_copy(update={"made_at": self.read_manifest().made_at})

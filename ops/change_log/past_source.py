"""A vault at a moment between two backups, as a backup: what restores a backup restores it.

Everything but the database and the notes that tools changed is that of the backup, which should be the last one made
before the moment that was asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ops.backup import contents, notes_at_moment, questions
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.member_paths import NOTES, VAULT_DATABASE
from ops.backup.pace import Pace
from ops.backup.source import BackupSource, everything
from ops.change_log.notes_replay import read_pending, rebuild_notes
from ops.change_log.points import LogPoint
from ops.change_log.replay import materialise
from ops.change_log.store import LogStore, plain
from vaults.db.database_copy import open_copy
from vaults.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class PastSource:
    """A ``BackupSource``. ``base`` is the backup, ``point`` a commit that holds no less than it."""

    base: BackupSource
    store: LogStore
    point: LogPoint
    unseal: Callable[[bytes], bytes] = plain

    def read_manifest(self) -> BackupManifest:
        """That of the backup, but for the moment: what the database holds is known once it is extracted."""
        return self.base.read_manifest().model_copy(update={"made_at": self.point.time})

    def extract(
        self, into: Path, wanted: Callable[[str], bool] = everything, pace: Pace | None = None
    ) -> BackupManifest:
        """As ``BackupSource`` says. Also raises what ``materialise`` and ``rebuild_notes`` raise, and
        ``InvalidArgument`` where the backup holds what the log does not."""
        database = into / VAULT_DATABASE
        # The database of the backup says which changes to notes were under way in it.
        manifest = self.base.extract(into, lambda path: path == VAULT_DATABASE or wanted(path), pace)
        pending = read_pending(database)
        database.unlink()
        materialise(self.store, manifest.vault_id, database, self.point, unseal=self.unseal)
        self._refuse_less(database, manifest)
        rebuild_notes(database, into / NOTES, after=manifest.note_change, pending=pending)
        described = self._describe(manifest, database, into, wanted)
        if not wanted(VAULT_DATABASE):
            database.unlink()
        return described

    def _refuse_less(self, database: Path, manifest: BackupManifest) -> None:
        """The log was not kept when the backup was made, or lost its end: then the backup is worth more."""
        with open_copy(database) as tx:
            is_less = tx.version() < manifest.position or notes_at_moment.last_change(tx) < manifest.note_change
        if is_less:
            raise InvalidArgument(
                "log",
                f"holds nothing between {self.point.time} and the backup of {manifest.made_at}, which holds more",
                hint="restore that backup (backup list shows its name), or a moment before it",
            )

    def _describe(
        self, manifest: BackupManifest, database: Path, into: Path, wanted: Callable[[str], bool]
    ) -> BackupManifest:
        with open_copy(database) as tx:
            return manifest.model_copy(
                update={
                    "made_at": self.point.time,
                    "schema_steps": contents.schema_steps(tx),
                    "position": tx.version(),
                    "note_change": notes_at_moment.last_change(tx),
                    "counts": contents.count_rows(tx, "vault"),
                    "ids_digest": contents.digest_ids(tx, "vault"),
                    "questions": questions.choose(tx),
                    "members": (
                        *_measure(into),
                        *(each for each in manifest.members if each.path != VAULT_DATABASE and not wanted(each.path)),
                    ),
                }
            )


def _measure(folder: Path) -> Iterator[ManifestMember]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield ManifestMember(path=path.relative_to(folder).as_posix(), size=path.stat().st_size, sha256=digest)

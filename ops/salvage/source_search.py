"""Whole states of a vault that lie where backups go, newest first: archives, snapshots, the end of the change log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ops.backup.archive_names import parse_name
from ops.backup.archive_reader import Opener, open_archive
from ops.backup.back_up import ARCHIVES_FOLDER
from ops.backup.member_paths import VAULT_DATABASE
from ops.backup.snapshot_name import compact_moment
from ops.backup.snapshots import list_snapshots, open_snapshot
from ops.backup.source import BackupSource
from ops.backup.store import BackupStore
from ops.backup.stores import open_store
from ops.change_log.points import LogPoint, find_point
from ops.change_log.replay import materialise
from ops.change_log.unsealing import make_unseal
from ops.settings import BackupSettings
from vaults.errors import NotFound, StrongroomError
from vaults.registry import VaultEntry


@dataclass(frozen=True, slots=True)
class SalvageSource:
    """A whole state of the vault's database. ``moment``: when it was so, as names of backups have it; ``write``: writes
    it as ``vault.db`` into a folder. Blocking; raises what ``BackupSource`` raises."""

    name: str
    moment: str
    write: Callable[[Path], object]


def from_backup(name: str, moment: str, source: BackupSource) -> SalvageSource:
    """A backup as a source."""
    return SalvageSource(name, moment, lambda into: source.extract(into, lambda path: path == VAULT_DATABASE))


@dataclass(frozen=True, slots=True)
class SourceSearch:
    """Where to look, and for whose."""

    settings: BackupSettings
    data: Path
    entry: VaultEntry
    opener: Opener

    def find(self) -> list[SalvageSource]:
        """Newest first; of one moment the change log, which ends with the last commit. Whether one is of this very
        vault and whole is seen when it is read. What cannot be looked into stands last, and says so when it is read.
        Blocking."""
        found = [*self._find_archives()]
        if self.settings.to is not None:
            try:
                store = open_store(self.settings)
                found = [*self._find_log(store), *self._find_snapshots(store), *found]
            except StrongroomError as failure:
                found.append(SalvageSource("backup.to", "", partial(_refuse, failure)))
        return sorted(found, key=lambda each: each.moment, reverse=True)

    def _find_archives(self) -> Iterator[SalvageSource]:
        folder = archives_folder(self.settings, self.data)
        for path in folder.glob("*.tar.zst*") if folder.is_dir() else ():
            name = parse_name(path.name)
            if name is not None and name.vault == self.entry.name:
                yield from_backup(path.name, name.at, open_archive(path, self.opener))

    def _find_snapshots(self, store: BackupStore) -> Iterator[SalvageSource]:
        vault_id = self.entry.vault_id
        for name in list_snapshots(store, vault_id):
            yield from_backup(str(name), name.moment, open_snapshot(store, vault_id, str(name), self.opener))

    def _find_log(self, store: BackupStore) -> Iterator[SalvageSource]:
        vault_id, unseal = self.entry.vault_id, make_unseal(self.opener.identities)
        try:
            point = find_point(store, vault_id, unseal=unseal)
        except NotFound:
            return

        def write(into: Path, point: LogPoint = point) -> None:
            materialise(store, vault_id, into / VAULT_DATABASE, point, unseal=unseal)

        yield SalvageSource("change log", compact_moment(point.time), write)


def archives_folder(settings: BackupSettings, data: Path) -> Path:
    """Where archives are; those in a bucket are fetched by ``strongroom restore``."""
    if settings.to is None or "://" in settings.to:
        return data / ARCHIVES_FOLDER
    return Path(settings.to)


def _refuse(failure: StrongroomError, _: Path) -> None:
    raise failure

"""Which backup somebody means: a file, what ``backup list`` printed, or the latest of a vault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ops.backup.archive_reader import NO_KEYS, Opener, open_archive
from ops.backup.back_up import ARCHIVES_FOLDER
from ops.backup.snapshot_name import SnapshotName, parse_name
from ops.backup.snapshots import list_snapshots, open_snapshot
from ops.backup.source import BackupSource
from ops.backup.stores import open_store
from ops.settings import BackupSettings
from vaults.errors import InvalidArgument, NotFound

LATEST = "latest"

_SNAPSHOT = re.compile(r"(?:.*/)?vaults/(?P<vault_id>[A-Za-z0-9_-]{1,64})/snapshots/(?P<name>[^/]+)", re.ASCII)
_ARCHIVE_END = re.compile(r"-(?P<moment>\d{8}T\d{6}Z)-s\d+-v[^/]*\.tar\.zst(\.age)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class KnownBackups:
    """Where backups are looked for, and what opens them. ``data``: the data folder; ``vault``, ``vault_id``: whose,
    where that was said and is known here; ``until``: the latest moment ``latest`` may be of, as names have it."""

    settings: BackupSettings
    data: Path
    opener: Opener = NO_KEYS
    vault: str | None = None
    vault_id: str | None = None
    until: str | None = None


def open_source(reference: str, known: KnownBackups) -> BackupSource:
    """The backup that is meant. Blocking. Raises ``NotFound``, ``InvalidArgument``, and what a store raises."""
    if (path := Path(reference).expanduser()).is_file():
        return open_archive(path, known.opener)
    if named := _SNAPSHOT.fullmatch(reference):
        return open_snapshot(open_store(known.settings), named["vault_id"], named["name"], known.opener)
    if reference == LATEST:
        return _open_latest(known)
    if parse_name(reference) is not None:
        return open_snapshot(open_store(known.settings), _need_vault(known), reference, known.opener)
    if "/" not in reference and (found := _archive_folder(known) / reference).is_file():
        return open_archive(found, known.opener)
    raise NotFound(f"there is no backup {reference[:200]}", hint="give a file, or a name that backup list shows")


def _open_latest(known: KnownBackups) -> BackupSource:
    """The newest of the archives and snapshots of the vault."""
    if known.vault is None:
        raise InvalidArgument("--vault", "is needed: the latest backup of which vault?")
    archives = max(_archives_of(known.vault, known), default=None)
    snapshots = _snapshots_of(known)
    if archives is None and not snapshots:
        raise NotFound(f"there is no backup of {known.vault}", hint="backup list shows what there is")
    if archives is None or (snapshots and snapshots[0].moment >= archives[0]):
        return open_snapshot(open_store(known.settings), _need_vault(known), str(snapshots[0]), known.opener)
    return open_archive(archives[1], known.opener)


def _archives_of(vault: str, known: KnownBackups) -> Iterator[tuple[str, Path]]:
    """The archives of a vault that lie in the backup folder, each with its moment."""
    folder = _archive_folder(known)
    for path in folder.iterdir() if folder.is_dir() else ():
        found = _ARCHIVE_END.fullmatch(path.name, len(vault)) if path.name.startswith(vault) else None
        if found is not None and (known.until is None or found["moment"] <= known.until):
            yield found["moment"], path


def _snapshots_of(known: KnownBackups) -> list[SnapshotName]:
    if known.settings.to is None or known.vault_id is None:
        return []
    there = list_snapshots(open_store(known.settings), known.vault_id)
    return [each for each in there if known.until is None or each.moment <= known.until]


def _archive_folder(known: KnownBackups) -> Path:
    """Where the command ``backup`` writes archives unless told otherwise."""
    to = known.settings.to
    return Path(to) if to is not None and to.startswith("/") else known.data / ARCHIVES_FOLDER


def _need_vault(known: KnownBackups) -> str:
    if known.vault_id is None:
        raise InvalidArgument("--vault", "is needed: a vault of this installation, or the whole name from backup list")
    return known.vault_id

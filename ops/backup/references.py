"""Which backup somebody means: a file, what ``backup list`` printed, or the latest of a vault."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ops.backup.archive_names import parse_name as parse_archive_name
from ops.backup.archive_reader import NO_KEYS, Opener, open_archive
from ops.backup.back_up import ARCHIVES_FOLDER
from ops.backup.snapshot_name import SnapshotName, parse_name
from ops.backup.snapshots import list_snapshots, open_snapshot
from ops.backup.source import BackupSource
from ops.backup.stores import open_store
from ops.settings import BackupSettings
from vaults.errors import InvalidArgument, NotFound

LATEST = "latest"

SHOWN = 3
"""Archives that are not there now of which a refusal names the path."""

_SNAPSHOT = re.compile(r"(?:.*/)?vaults/(?P<vault_id>[A-Za-z0-9_-]{1,64})/snapshots/(?P<name>[^/]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class KnownBackups:
    """Where backups are looked for, and what opens them. ``data``: the data folder; ``vault``, ``vault_id``: whose,
    where that was said and is known here; ``until``: the latest moment ``latest`` may be of, as names have it;
    ``recorded``: archives of the vault that were written anywhere, perhaps with ``--to``, and may be gone."""

    settings: BackupSettings
    data: Path
    opener: Opener = NO_KEYS
    vault: str | None = None
    vault_id: str | None = None
    until: str | None = None
    recorded: tuple[Path, ...] = ()


def open_source(reference: str, known: KnownBackups) -> BackupSource:
    """The backup that is meant. Blocking. Raises ``NotFound``, ``InvalidArgument``, and what a store raises."""
    if (path := Path(reference).expanduser()).is_file():
        return open_archive(path, known.opener)
    if named := _SNAPSHOT.fullmatch(reference):
        return open_snapshot(open_store(known.settings), named["vault_id"], named["name"], known.opener)
    if reference == LATEST:
        return open_latest(known)[1]
    if parse_name(reference) is not None:
        return open_snapshot(open_store(known.settings), _need_vault(known), reference, known.opener)
    if "/" not in reference:
        for found in (_archive_folder(known) / reference, *_recorded(known)):
            if found.name == reference and found.is_file():
                return open_archive(found, known.opener)
    raise NotFound(f"there is no backup {reference[:200]}", hint="give a file, or a name that backup list shows")


@dataclass(frozen=True, slots=True)
class ListedBackup:
    """A backup of a vault by its name; ``moment``: as names have it."""

    moment: str
    name: str
    open: Callable[[], BackupSource]


def list_backups(known: KnownBackups) -> list[ListedBackup]:
    """The archives and snapshots that go by the name or id of the vault, newest first. An archive may be of another
    vault that had its name. Blocking."""
    vault = known.vault
    if vault is None:
        raise InvalidArgument("--vault", "is needed: the backups of which vault?")
    found = [
        ListedBackup(moment, path.name, partial(open_archive, path, known.opener))
        for moment, path in _archives_of(vault, known)
    ]
    if snapshots := _snapshots_of(known):
        store, vault_id = open_store(known.settings), _need_vault(known)
        found += [
            ListedBackup(each.moment, str(each), partial(open_snapshot, store, vault_id, str(each), known.opener))
            for each in snapshots
        ]
    return sorted(found, key=lambda each: (each.moment, parse_name(each.name) is not None, each.name), reverse=True)


def is_of_another(source: BackupSource, vault_id: str | None) -> bool:
    """Whether a backup says that it is of another vault than the one with this id. One that says nothing, being damaged
    or closed, is not told from ours. Blocking."""
    try:
        return vault_id is not None and source.read_manifest().vault_id != vault_id
    except InvalidArgument:
        return False


def open_latest(known: KnownBackups) -> tuple[str, BackupSource]:
    """The newest of the archives and snapshots of the vault, with its name. Those of another vault that once had its
    name are no backups of this one. Blocking. Raises ``NotFound``, and what a store raises."""
    for listed in list_backups(known):
        source = listed.open()
        if not is_of_another(source, known.vault_id):
            return listed.name, source
    raise _no_backup(known)


def _no_backup(known: KnownBackups) -> NotFound:
    """Says where was looked, and what is recorded of archives that are not there now."""
    snapshots = f" and {known.settings.to}" if (known.settings.to or "").startswith("s3://") else ""
    looked = f"there is no backup of {known.vault} in {_archive_folder(known)}{snapshots}"
    there = _recorded(known)
    if gone := [str(each) for each in known.recorded if each not in there]:
        more = f" and {len(gone) - SHOWN:,} more" if len(gone) > SHOWN else ""
        message = f"{looked}, and not there now are {', '.join(gone[:SHOWN])}{more}"
        return NotFound(message, hint="mount their disk, or name the archive itself by its path")
    return NotFound(looked, hint="name the archive itself by its path; backup list shows what was made")


def _archives_of(vault: str, known: KnownBackups) -> Iterator[tuple[str, Path]]:
    """The archives of a vault that lie in the backup folder, and those written elsewhere under whatever name it had;
    each with its moment."""
    folder = _archive_folder(known)
    for path in {*(folder.iterdir() if folder.is_dir() else ()), *_recorded(known)}:
        name = parse_archive_name(path.name)
        is_ours = name is not None and (name.vault == vault or path in known.recorded)
        if name is not None and is_ours and (known.until is None or name.at <= known.until):
            yield name.at, path


def _recorded(known: KnownBackups) -> list[Path]:
    """Those that are there. A disk that does not answer has none."""
    return [each for each in known.recorded if os.path.isfile(each)]  # noqa: PTH113  Path.is_file raises for some


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

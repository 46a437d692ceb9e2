"""How much a backup of a vault copies, and when anything of it changed last: told by its files, which are not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ops.backup.notes_copy import list_served
from ops.backup.subject import BackupSubject
from vaults.db.database_copy import size_of
from vaults.files.tree import Tree
from vaults.history.locations import OWN_FOLDER
from vaults.registry import DATABASE_FILE
from vaults.vault import notes_root


@dataclass(frozen=True, slots=True)
class VaultMeasure:
    """``size``: bytes at most; ``changed_at``: seconds since 1970, by the clock of the disk."""

    size: int
    changed_at: float

    def is_older_than(self, moment: str) -> bool:
        """Whether nothing changed since a stored moment."""
        return self.changed_at < datetime.fromisoformat(moment).timestamp()


def measure(subject: BackupSubject, database: Path | None = None) -> VaultMeasure:
    """Look at the files of a vault. ``database``: another one in the place of its own. Blocking. Raises
    ``VaultUnavailable`` where notes cannot be listed; ``OSError`` passes."""
    live = database or subject.folder / DATABASE_FILE
    found = [*_parts_of(subject), *_files_below(subject.folder / OWN_FOLDER)]
    changed = [live.stat().st_mtime, _log_changed_at(live), *(at for _, at in found)]
    return VaultMeasure(size_of(live) + sum(size for size, _ in found), max(changed))


def _parts_of(subject: BackupSubject) -> Iterator[tuple[int, float]]:
    """Size and time of each note."""
    root = notes_root(subject.entry, subject.folder)
    if subject.entry.path is None:
        yield from _files_below(root)
        return
    tree, settings = Tree(root, subject.notes.exclude), subject.notes
    for path in list_served(tree, settings.policies).paths:
        if (stamp := tree.stamp(path)) is not None:
            yield stamp.size, stamp.mtime_ns / 1e9


def _files_below(folder: Path) -> Iterator[tuple[int, float]]:
    """Also folders, of no size: what was moved into one or out of it changes nothing else."""
    for here, _, names in os.walk(folder):
        for name in (".", *names):
            with suppress(FileNotFoundError):
                found = os.lstat(os.path.join(here, name))  # noqa: PTH118  thousands of them
                yield (0 if name == "." else found.st_size), max(found.st_mtime, found.st_ctime)


def _log_changed_at(database: Path) -> float:
    """When the log was written to last; 0 for one that is empty, which also reading makes."""
    with suppress(FileNotFoundError):
        log = database.with_name(f"{database.name}-wal").stat()
        return log.st_mtime if log.st_size else 0.0
    return 0.0

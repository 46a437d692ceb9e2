"""Putting the new database in the place of the damaged one. Killed at any step, nothing is gone and a new run goes on.

The damaged database and its log get a second name first. Only then is the log taken from beside it, for SQLite would
apply it to whatever database lies there; and one rename makes the new database the vault's. Call with the gate held.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vaults.database_checks import DAMAGE_MARKER
from vaults.files.atomic import sync_folder
from vaults.files.permissions import FILE_MODE, tighten_permissions
from vaults.index import snapshot
from vaults.index.shelves import SHELVES

SCRATCH_PREFIX = ".salvaging-"
KEPT = "corrupt-"
_LOG, _SHARED = "-wal", "-shm"


@dataclass(frozen=True, slots=True)
class DamagedFiles:
    """A damaged database and its log."""

    database: Path
    log: Path

    @property
    def exists(self) -> bool:
        """Whether anything is there: all of a young vault may stand in its log."""
        return self.database.exists() or self.has_log

    @property
    def has_log(self) -> bool:
        return self.log.exists() and self.log.stat().st_size > 0


def find_damaged(path: Path) -> DamagedFiles:
    """The damaged database of a vault. If an earlier run was killed after it took the log away, the log is by its
    second name."""
    log = path.with_name(path.name + _LOG)
    if path.exists() and not (log.exists() and log.stat().st_size):  # whoever looks at a database leaves an empty log
        for kept in _kept(path):
            if kept.exists() and _is_same(kept, path):
                return DamagedFiles(path, kept.with_name(kept.name + _LOG))
    return DamagedFiles(path, log)


def find_kept(path: Path) -> list[Path]:
    """Databases that were put aside here, their logs, and rows nobody believed."""
    return list(path.parent.glob(f"{path.name}.{KEPT}*"))


def _kept(path: Path) -> Iterator[Path]:
    """The databases among them, newest first."""
    yield from sorted((each for each in find_kept(path) if not each.name.endswith((_LOG, ".jsonl"))), reverse=True)


def _is_same(kept: Path, path: Path) -> bool:
    """Whether one is the other by a second name or, on a file system without these, its copy."""
    one, other = kept.stat(), path.stat()
    return os.path.samestat(one, other) or (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def choose_name(path: Path, at: str) -> Path:
    """The name that the damaged database gets: nothing that was kept before has it, also if the clock was set back."""
    number = 1
    while True:
        kept = path.with_name(f"{path.name}.{KEPT}{at}" + (f"-{number}" if number > 1 else ""))
        if not list(path.parent.glob(f"{kept.name}*")):
            return kept
        number += 1


def exchange(path: Path, new: Path, kept: Path) -> Path | None:
    """Put ``new`` in the place of the database at ``path``, which is ``kept``; returns that name, None where there was
    none. Blocking."""
    damaged = find_damaged(path)
    for source, name in ((damaged.log, kept.name + _LOG), (damaged.database, kept.name)):
        if source.exists():
            _name_again(source, path.with_name(name))
    sync_folder(path.parent)
    for end in (_LOG, _SHARED):
        path.with_name(path.name + end).unlink(missing_ok=True)
    for shelf in SHELVES:  # their numbers mean other vectors from now on
        snapshot.remove(path.parent / shelf.snapshot)
    sync_folder(path.parent)
    tighten_permissions(new, FILE_MODE)
    new.replace(path)
    sync_folder(path.parent)
    path.with_name(DAMAGE_MARKER).unlink(missing_ok=True)
    sync_folder(path.parent)
    return kept if kept.exists() else None


def _name_again(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)  # with its time: that tells it is a copy of this one
        with target.open("rb") as file:
            os.fsync(file.fileno())
    tighten_permissions(target, FILE_MODE)


def sweep(folder: Path) -> None:
    """Remove what killed runs left half built."""
    for scratch in folder.glob(f"{SCRATCH_PREFIX}*"):
        shutil.rmtree(scratch, ignore_errors=True)

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
        return self.database.exists()


def find_damaged(path: Path) -> DamagedFiles:
    """The damaged database of a vault. If an earlier run was killed after it took the log away, the log is by its
    second name."""
    log = path.with_name(path.name + _LOG)
    if path.exists() and not (log.exists() and log.stat().st_size):  # whoever looks at a database leaves an empty log
        for kept in _kept(path):
            if kept.exists() and kept.samefile(path):
                return DamagedFiles(path, kept.with_name(kept.name + _LOG))
    return DamagedFiles(path, log)


def _kept(path: Path) -> Iterator[Path]:
    """Databases that were put aside here, newest first."""
    found = path.parent.glob(f"{path.name}.{KEPT}*")
    yield from sorted((each for each in found if not each.name.endswith((_LOG, ".jsonl"))), reverse=True)


def exchange(path: Path, new: Path, at: str) -> Path | None:
    """Put ``new`` in the place of the database at ``path``; returns the damaged one's new name, None where there was
    none. Blocking."""
    kept = path.with_name(f"{path.name}.{KEPT}{at}")
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
    except FileExistsError:
        return
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
    tighten_permissions(target, FILE_MODE)


def sweep(folder: Path) -> None:
    """Remove what killed runs left half built."""
    for scratch in folder.glob(f"{SCRATCH_PREFIX}*"):
        shutil.rmtree(scratch, ignore_errors=True)

"""The folders in which a server lays out the vaults it holds: caches, dropped once they are not its own any more."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vaults.cluster.cluster_observer import TakenFiles
from vaults.cluster.log_replay import ReplayedCopy, RestoredLog, bring_up, is_in_log
from vaults.cluster.restore import restore
from vaults.cluster.vault_log import Placement, VaultLog
from vaults.errors import StrongroomError
from vaults.files.failures import translate_machine_errors
from vaults.files.permissions import make_private_folder

COPIES_FOLDER = "copies"
"""In the data folder: nothing in it is the only one of its kind."""

KEPT = (".gate", ".intent")
"""Locks, which others may hold or look at."""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """``start``: where its log stands; None for a vault whose log has not begun."""

    start: RestoredLog | None
    files: TakenFiles


def lay_out(store: VaultLog, placement: Placement, database: Path, standby: ReplayedCopy | None) -> LaidOut:
    """Put the vault's database in the place of whatever is in its folder: ``standby`` with the entries since, which is
    used up by it, or all that the log holds. Blocking; nothing of the folder is open. Raises as ``restore``, and
    ``StorageFull``, ``ReadOnly``, ``VaultUnavailable`` for a disk that cannot take it."""
    with translate_machine_errors():
        return _lay_out(store, placement, database, standby)


def _lay_out(store: VaultLog, placement: Placement, database: Path, standby: ReplayedCopy | None) -> LaidOut:
    clear(database.parent)
    make_private_folder(database.parent)
    if standby is not None:
        start = _go_on(store, placement, standby, database)
        if start is not None:
            return LaidOut(start, "standby")
    # Not looked through by SQLite: each page is the one that was logged, by a holder whose own rounds look.
    return LaidOut(restore(store, placement.vault, database, placement.head), "restored")


def _go_on(store: VaultLog, placement: Placement, standby: ReplayedCopy, database: Path) -> RestoredLog | None:
    """None where that cannot be done, whatever the reason: restoring meets it too, or has no need of the copy. Pages
    that nobody changed since the copy was written are compared when the vault is opened, as those of any file."""
    with suppress(StrongroomError, OSError):
        copy = bring_up(store, placement.vault, standby, placement.head)
        # A chain of entries proves what they follow; without one the last entry itself is asked.
        is_proved = copy.log.head.seq > standby.log.head.seq or is_in_log(store, placement.vault, copy.log.head)
        if copy.log.head.seq == placement.head and is_proved:
            base_bytes, log_bytes = store.sizes(placement.vault)
            copy.path.rename(database)
            return RestoredLog(copy.log.head, base_bytes, log_bytes)
    with suppress(OSError):
        standby.path.unlink(missing_ok=True)
    return None


def clear(folder: Path, kept: Collection[str] = KEPT) -> None:
    """Empty the folder of a vault that is open nowhere. Blocking."""
    with suppress(FileNotFoundError):
        for each in folder.iterdir():
            if each.name in kept:
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)

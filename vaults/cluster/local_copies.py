"""The folders in which a server lays out the vaults it holds: caches, dropped once they are not its own any more."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from vaults.cluster.restore import RestoredLog, restore
from vaults.cluster.vault_log import Placement, VaultLog
from vaults.files.permissions import make_private_folder

COPIES_FOLDER = "copies"
"""In the data folder: nothing in it is the only one of its kind."""

KEPT = (".gate", ".intent")
"""Locks, which others may hold or look at."""


def lay_out(store: VaultLog, placement: Placement, database: Path) -> RestoredLog | None:
    """Put the vault's database in the place of whatever is in its folder; None for a vault whose log has not begun.
    Blocking; nothing of the folder is open. Raises as ``restore``."""
    clear(database.parent)
    make_private_folder(database.parent)
    # Not looked through by SQLite: each page is the one that was logged, by a holder whose own rounds look.
    return restore(store, placement.vault, database, placement.head)


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

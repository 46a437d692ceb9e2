"""As ``notes_work``, with the vault held as in a cluster: its files of notes are rows, and its commits go to a log.

Covers nothing by itself: used by ``test_kill_cluster_notes``.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.crash import notes_work
from tests.crash.folder_log import FolderLog, logged
from vaults import vault as vault_module
from vaults.db.connection import Database
from vaults.vault import Vault


def log_of(data: Path) -> Path:
    """Where the log of the vault in a data folder lies, which a burnt server does not take along."""
    return data.with_name(f"{data.name}-log")


def hold(data: Path, replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """From now on vault main of this data folder is held for its log."""

    def opened(path: Path, settings: Any, observer: Any = None, log: Any = None) -> Database:
        is_held = log is not None and path.is_relative_to(data)
        return Database(path, settings, observer, logged(path, settings, FolderLog(log_of(data))) if is_held else log)

    replace(vault_module, "Database", opened)
    replace(Vault, "keeps_note_files", True)


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """``notes_work.work`` in a vault that is held."""
    hold(Path(data))
    notes_work.work(data, kind, flags, pipe)

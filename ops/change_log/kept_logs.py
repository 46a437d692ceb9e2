"""The logs of all open vaults of a process, as the settings want them."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from ops.backup import sealing
from ops.backup.encryption import check_recipients
from ops.backup.stores import open_store
from ops.change_log.change_log import ChangeLog, LogShelf
from ops.change_log.shipper import LogFigures
from ops.change_log.store import plain
from ops.settings import BackupSettings
from vaults.background_work import LastingTask
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import Vault

TELL_S = 1.0
"""Seconds between two reports to the observer."""

THREADS = 4
"""Logs that move bytes at a time: a store that is slow delays logs only."""


class LogObserver(Protocol):
    """Told how far the logs are."""

    def on_change_log(self, behind_s: float, stored: int, gaps: int) -> None:
        """``behind_s`` of the log that is furthest behind; bytes and gaps since the last time."""


class KeptLogs:
    """``make`` and ``keep`` for each vault that is opened; ``close`` once all are closed."""

    def __init__(self, backup: BackupSettings, storage: StorageSettings, observer: LogObserver | None) -> None:
        open_store(backup)  # settings with which it never could are refused at the start
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="change-log")
        self._shelf = LogShelf(
            open_store=partial(open_store, backup),
            pool=self._pool,
            storage=storage,
            keep_s=backup.log_keep_s,
            seal=_sealing(backup.recipients),
            on_look=self._tell,
        )
        self._observer = observer
        self._logs: WeakSet[ChangeLog] = WeakSet()
        self._stored, self._gaps, self._told = 0, 0, 0.0

    def make(self, entry: VaultEntry, database: Path) -> ChangeLog:
        """The log of a vault that is being opened. Does nothing before ``keep``."""
        log = ChangeLog(database, entry.vault_id, self._shelf)
        self._logs.add(log)
        return log

    def keep(self, vault: Vault) -> LastingTask:
        """What keeps a log while its vault is open."""
        log = vault.db.log
        assert isinstance(log, ChangeLog), "made by another"
        return LastingTask(partial(log.follow, vault.db))

    async def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _tell(self) -> None:
        if self._observer is None or time.monotonic() - self._told < TELL_S:
            return
        self._told = time.monotonic()
        figures: list[LogFigures] = [each.figures for each in self._logs if each.is_wanted]
        stored, gaps = sum(each.stored_bytes for each in figures), sum(each.gaps for each in figures)
        behind = max((each.behind_s for each in figures), default=0.0)
        self._observer.on_change_log(behind, max(0, stored - self._stored), max(0, gaps - self._gaps))
        self._stored, self._gaps = stored, gaps


def _sealing(recipients: tuple[str, ...]) -> Callable[[bytes], bytes]:
    if not recipients:
        return plain
    check_recipients(recipients)
    return partial(sealing.close, recipients=recipients)

"""The logs of all open vaults of a process, as the settings want them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary

from ops.backup import sealing
from ops.backup.encryption import check_recipients
from ops.backup.stores import open_store
from ops.change_log.change_log import ChangeLog
from ops.change_log.log_shelf import LogShelf
from ops.change_log.store import plain
from ops.change_log.store_threads import StoreThreads
from ops.settings import BackupSettings
from vaults.background_work import LastingTask
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import Vault

TELL_S = 1.0
"""Seconds between two reports to the observer."""

THREADS = 4
"""Logs that work at a time on this machine, and as many that wait for the store: one that is slow delays logs only."""


class LogObserver(Protocol):
    """Told how far the logs are."""

    def on_change_log(self, behind_s: float, stored: int, gaps: int) -> None:
        """``behind_s`` of the log that is furthest behind; bytes and gaps since the last time."""


class KeptLogs:
    """``make`` and ``keep`` for each vault that is opened; ``close`` once all are closed."""

    def __init__(self, backup: BackupSettings, storage: StorageSettings, observer: LogObserver | None) -> None:
        open_store(backup)  # settings with which it never could are refused at the start
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="change-log")
        self._stores = ThreadPoolExecutor(THREADS, thread_name_prefix="change-log-store")
        self._shelf = LogShelf(
            open_store=partial(open_store, backup),
            pool=self._pool,
            stores=StoreThreads(self._stores),
            storage=storage,
            keep_s=backup.log_keep_s,
            seal=_sealing(backup.recipients),
        )
        self._observer = observer
        self._logs: WeakKeyDictionary[ChangeLog, _Told] = WeakKeyDictionary()
        self._telling: asyncio.Task[None] | None = None

    def make(self, entry: VaultEntry, database: Path) -> ChangeLog:
        """The log of a vault that is being opened. Does nothing before ``keep``."""
        log = ChangeLog(database, entry.vault_id, self._shelf)
        self._logs[log] = _Told()
        if self._observer is not None and self._telling is None:
            self._telling = asyncio.create_task(self._tell_regularly(self._observer), name="change-log-figures")
        return log

    def keep(self, vault: Vault) -> LastingTask:
        """What keeps a log while its vault is open."""
        log = vault.db.log
        assert isinstance(log, ChangeLog), "made by another"
        return LastingTask("keep_change_log", partial(log.follow, vault.db))

    async def close(self) -> None:
        """End the threads."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._stores.shutdown)

    async def _tell_regularly(self, observer: LogObserver) -> None:
        """By a clock of its own: a log whose store hangs looks at nothing."""
        while True:
            self._tell(observer)
            await asyncio.sleep(TELL_S)

    def _tell(self, observer: LogObserver) -> None:
        behind, stored, gaps = 0.0, 0, 0
        for log, told in self._logs.items():
            figures = log.figures
            behind = max(behind, figures.behind_s if log.is_wanted else 0.0)
            stored += figures.stored_bytes - told.stored
            gaps += figures.gaps - told.gaps
            told.stored, told.gaps = figures.stored_bytes, figures.gaps
        observer.on_change_log(behind, stored, gaps)


@dataclass(slots=True)
class _Told:
    """Of one log, up to the last report."""

    stored: int = 0
    gaps: int = 0


def _sealing(recipients: tuple[str, ...]) -> Callable[[bytes], bytes]:
    if not recipients:
        return plain
    check_recipients(recipients)
    return partial(sealing.close, recipients=recipients)

"""What the logs of a process share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from ops.change_log.steady_clock import SteadyClock
from ops.change_log.store import LogStore, plain
from ops.change_log.store_threads import StoreThreads
from vaults.settings import StorageSettings

EVERY_S = 1.0
"""Seconds between two looks at what was committed."""


@dataclass(frozen=True, slots=True)
class LogShelf:
    """``open_store`` may fail, and is asked again. ``pool``: for work on this machine. ``keep_s``: how far back every
    moment stays restorable."""

    open_store: Callable[[], LogStore]
    pool: Executor
    stores: StoreThreads
    storage: StorageSettings
    keep_s: int
    seal: Callable[[bytes], bytes] = plain
    every_s: float = EVERY_S
    clock: SteadyClock = field(default_factory=SteadyClock)

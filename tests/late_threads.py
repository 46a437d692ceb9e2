"""A plugin of pytest that makes threads late by chance, as a busy machine does: ``make races SEED=2``.

A test that waits for the thing itself passes. One that trusted a thread to be quick fails here, and not one day in CI.
Late are the work of thread pools, what SQLite does on its threads, and the word to a loop that something is done; no
delay is one that a machine could not cause, and none changes the order of what one thread does.
"""

from __future__ import annotations

import os
import random
import threading
import time
from asyncio import BaseEventLoop, Handle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import aiosqlite
import pytest

T = TypeVar("T")

SHARE = 0.3
"""Of all steps, which are late."""

LONGEST_S = 0.05
"""Most are late by much less: by the square of a chance."""

MOST_S = 2.0
"""A test with thousands of steps is held up no longer than this in all."""


class Lateness:
    """One seed for a run and a worker. Its draws repeat; which thread meets which of them does not."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"{seed} {os.environ.get('PYTEST_XDIST_WORKER')}")
        self._left_s = 0.0

    @pytest.hookimpl
    def pytest_runtest_setup(self) -> None:
        self._left_s = MOST_S

    def wait(self) -> None:
        if self._left_s > 0 and self._random.random() < SHARE:
            seconds = self._random.random() ** 2 * LONGEST_S
            self._left_s -= seconds
            time.sleep(seconds)

    def of(self, work: Callable[..., T]) -> Callable[..., T]:
        """The same work, begun late."""

        def late(*args: Any, **named: Any) -> T:
            self.wait()
            return work(*args, **named)

        return late


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lateness", type=int, default=1, metavar="SEED", help="which chance makes threads late")


def pytest_configure(config: pytest.Config) -> None:
    lateness = Lateness(config.getoption("--lateness"))
    config.pluginmanager.register(lateness)
    submit, execute, tell = ThreadPoolExecutor.submit, aiosqlite.Connection._execute, BaseEventLoop.call_soon_threadsafe

    def submit_late(pool: ThreadPoolExecutor, work: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        return submit(pool, lateness.of(work), *args, **named)

    async def execute_late(connection: aiosqlite.Connection, work: Callable[..., T], *args: Any, **named: Any) -> T:
        result: T = await execute(connection, lateness.of(work), *args, **named)  # type: ignore[no-untyped-call]
        return result

    def tell_late(loop: BaseEventLoop, callback: Callable[..., object], *args: Any, **named: Any) -> Handle:
        if loop.is_running() and threading.get_ident() != loop._thread_id:  # type: ignore[attr-defined]
            lateness.wait()
        return tell(loop, callback, *args, **named)

    patch = pytest.MonkeyPatch()
    patch.setattr(ThreadPoolExecutor, "submit", submit_late)
    patch.setattr(aiosqlite.Connection, "_execute", execute_late)
    patch.setattr(BaseEventLoop, "call_soon_threadsafe", tell_late)
    config.add_cleanup(patch.undo)

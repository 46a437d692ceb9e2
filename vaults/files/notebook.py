"""A vault's folder of notes while the vault is open: its files, who may write them, how far they are indexed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from vaults.errors import Overloaded, ReadOnly, VaultUnavailable
from vaults.files.tree import Tree
from vaults.files.watch.folder_watcher import NOT_WATCHING_YET, Watcher, WatchState
from vaults.files.writes.late_writes import LateWrites
from vaults.settings import NotesSettings

IndexPhase = Literal["unread", "scanning", "ready", "unavailable"]

WAIT_S = 20.0
"""Seconds a write waits for the writes before it."""

_POLL_S = 0.005

STEP_S = 0.25
"""Seconds between two checks whether there is still anything to wait for."""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far the index follows the files. ``watching``: how changes by others are noticed, or why not."""

    phase: IndexPhase = "unread"
    done: int = 0
    total: int = 0
    watching: str = "off"
    reason: str | None = None


def _describe_watch(state: WatchState) -> str:
    return f"{state.mode}: {state.reason}" if state.reason else state.mode


class Notebook:
    """The notes of one vault. ``state`` is the vault's own folder, which holds the lock between processes."""

    def __init__(self, root: Path, state: Path, settings: NotesSettings) -> None:
        self.root = root
        self.late = LateWrites()
        self.tree = Tree(root, settings.exclude, self.late)
        self.settings = settings
        self.refused: set[int] = set()
        """Numbers of changes that failed and must still be undone, or marked as failed in the journal."""
        self.progress = IndexProgress()
        self.watcher: Watcher | None = None
        self.looking = asyncio.Lock()
        """Held by a scan: of two at once, one would take a file that the other moved for gone."""
        self.kept: dict[str, int] = {}
        """Versions written to the journal last, each with its number of steps from a whole one."""
        self._lock = asyncio.Lock()
        self._lock_path = state / ".writing"
        self._settled = asyncio.Event()

    @property
    def now(self) -> IndexProgress:
        """How far the index is, and how the folder is watched at this moment."""
        if self.watcher is None:
            return self.progress
        state = self.watcher.state
        progress = replace(
            self.progress, watching="starting" if state.reason == NOT_WATCHING_YET else _describe_watch(state)
        )
        # A watch that is still being set up is not lost: the folder may just be big.
        lost = state.mode == "failed" and self.progress.phase != "scanning" and state.reason != NOT_WATCHING_YET
        return replace(progress, phase="unavailable", reason=state.reason) if lost else progress

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Hold the lock under which strongroom changes notes, across processes. Raises ``Overloaded`` when it cannot
        be had within ``WAIT_S``."""
        try:
            async with asyncio.timeout(WAIT_S):
                await self._lock.acquire()
        except TimeoutError:
            raise Overloaded("many edits wait for this vault", retry_after_s=2.0) from None
        try:
            descriptor = await self._hold()
            try:
                yield
            finally:
                os.close(descriptor)  # and release the kernel's lock
        finally:
            self._lock.release()

    async def _hold(self) -> int:
        try:
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError as failure:
            raise VaultUnavailable(
                "the vault's folder is not there", hint="the operator must check that it is mounted"
            ) from failure
        except OSError as failure:
            raise ReadOnly("the vault's files cannot be written") from failure
        try:
            async with asyncio.timeout(WAIT_S):
                while True:
                    with suppress(BlockingIOError):
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        return descriptor
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            os.close(descriptor)
            raise Overloaded("another process is changing notes of this vault", retry_after_s=2.0) from None
        except BaseException:
            os.close(descriptor)
            raise

    def report(self, progress: IndexProgress) -> None:
        """Record how far the index is."""
        self.progress = progress
        if progress.phase in ("ready", "unavailable"):
            self._settled.set()
        else:
            self._settled.clear()

    async def wait_for_index(self, seconds: float) -> bool:
        """Whether the index follows the files within ``seconds``. Does not wait for a folder that is not there."""
        until = time.monotonic() + seconds
        while not self._settled.is_set() and self.now.phase != "unavailable" and time.monotonic() < until:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(STEP_S, seconds)):
                    await self._settled.wait()
        return self._settled.is_set()

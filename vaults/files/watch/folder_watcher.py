"""Watches a vault's folder: reports where to look again soon after a change, and everything after a loss.

A watcher says where to look, never what happened: its consumer compares the disk with what it knows. So a lost, doubled
or late event costs time and no data, and every doubt has one answer: look at everything.
"""

from __future__ import annotations

import asyncio
import math
import os
import stat
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from vaults.files.watch.mounts import find_network_disk
from vaults.files.watch.pending_changes import ChangedPaths, PendingChanges
from vaults.files.watch.sources import NOTE_NAMES, SourceEnded, WatchedNames, run_in_thread

__all__ = ["ChangedPaths", "WatchState", "WatchTimes", "Watcher"]

ChangeSource: TypeAlias = Callable[[Path, WatchedNames, PendingChanges, Callable[[], None]], Awaitable[SourceEnded]]

_WINDOWS = 2.5  # debounce times until a window is delivered even if changes go on
_EVENTS_AGAIN_S = 300.0  # while polling for lack of watches: ask the system again
_EVENTS_SHARE, _POLLING_SHARE = 100, 10  # a look at everything may take 1 % of the time, with polling 10 %


NOT_WATCHING_YET = "not watching yet"
"""The reason while a watch is being set up for the first time."""


@dataclass(frozen=True, slots=True)
class WatchState:
    """How a folder is watched now. ``reason`` is for the status page and holds no path."""

    mode: Literal["events", "polling", "failed"]
    reason: str


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """Seconds. ``debounce_s``: of quiet before a change is told; ``flood_s``: the same where there are too many to
    list; ``poll_s`` and ``rescan_s``: between two looks at everything, without and beside events; ``check_s``: between
    two checks that the folder is still the same one, or that a lost one is back."""

    debounce_s: float = 0.2
    poll_s: float = 2.0
    rescan_s: float = 60.0
    check_s: float = 2.0
    flood_s: float = 0.0


class Watcher:
    """Watches one folder for one consumer, once. ``state`` may be read at any time. ``names``: what of it is watched,
    by default notes."""

    def __init__(
        self,
        root: Path,
        mode: Literal["auto", "events", "poll"] = "auto",
        times: WatchTimes = WatchTimes(),
        names: WatchedNames = NOTE_NAMES,
    ) -> None:
        self.state = WatchState("failed", NOT_WATCHING_YET)
        self._root = root
        self._mode = mode
        self._names = names
        self._times = times
        self._pending = PendingChanges(times.debounce_s, times.debounce_s * _WINDOWS, flood_s=times.flood_s)
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self._looked_at = time.monotonic()
        self._look_took_s = 0.0

    async def changes(self) -> AsyncGenerator[ChangedPaths, None]:
        """Where to look, until ``close``. The first item asks for everything and comes once the watch is set up, so no
        change falls between that look and the watch.

        A slow consumer gets fewer and larger items. Never raises for what happens to the folder: see ``state``.
        """
        if self._keeper is not None or self._closed:
            raise RuntimeError("a watcher serves one consumer, once")
        self._keeper = asyncio.create_task(self._keep(), name="watch a vault's folder")
        self._keeper.add_done_callback(lambda _: self._pending.wake())
        try:
            while not self._closed and not self._keeper.done():
                changed = await self._next()
                if changed is not None:
                    yield changed
        finally:
            await self.close()
            if not self._keeper.cancelled():
                self._keeper.result()

    def record_full_look(self, seconds: float) -> None:
        """Record that the consumer looked at everything, in ``seconds``: the time of the next look depends on it."""
        self._looked_at, self._look_took_s = time.monotonic(), seconds

    async def close(self) -> None:
        """Stop, and have ``changes`` end. No task, thread or descriptor is left. May be called again."""
        self._closed = True
        if self._keeper is not None and not self._keeper.done():
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self.state = WatchState("failed", "closed")

    async def _next(self) -> ChangedPaths | None:
        due = self._next_look()
        changed = await self._pending.take(due)
        if changed is None and time.monotonic() >= max(due, self._next_look()):
            changed = ChangedPaths(frozenset(), rescan=True)
        if changed is not None and changed.rescan:
            self._looked_at = time.monotonic()
        return changed

    def _next_look(self) -> float:
        """When everything is due again: events can be lost unnoticed, and polling consists of such looks."""
        match self.state.mode:
            case "events":
                return self._looked_at + max(self._times.rescan_s, _EVENTS_SHARE * self._look_took_s)
            case "polling":
                return self._looked_at + max(self._times.poll_s, _POLLING_SHARE * self._look_took_s)
            case _:
                return math.inf

    async def _keep(self) -> None:
        """Keep watching the folder, whatever happens to it."""
        polling = "polling was chosen" if self._mode == "poll" else ""
        while True:
            identity, network = await run_in_thread(_root_state, self._root)
            if identity is None:
                await self._lost("the folder is missing or cannot be read")
                continue
            if self._mode == "auto" and network:
                polling = f"on a {network} disk, whose changes this system is not told of"
            ended = await self._while_it_stands(identity, self._poll(polling) if polling else self._events())
            if ended.kind == "gone":
                await self._lost(ended.reason)
            elif ended.kind == "limit":
                polling = ended.reason
            else:
                polling = polling if self._mode == "poll" else ""
                await asyncio.sleep(self._times.debounce_s)  # what overran the system is likely still going on

    async def _events(self) -> SourceEnded:
        return await _choose_source()(self._root, self._names, self._pending, self._established)

    def _established(self) -> None:
        self.state = WatchState("events", "")
        self._pending.everything()

    async def _poll(self, reason: str) -> SourceEnded:
        """Let the consumer look at everything each ``poll_s``: looking here, too, would read the disk twice."""
        self.state = WatchState("polling", reason)
        self._pending.everything()
        await asyncio.sleep(_EVENTS_AGAIN_S)
        return SourceEnded("again", reason)

    async def _while_it_stands(self, identity: tuple[int, int], watch: Awaitable[SourceEnded]) -> SourceEnded:
        """What ``watch`` ends with, unless the folder is gone or replaced before that: no event reports a folder whose
        parent was moved, or over which another was mounted."""
        task = asyncio.ensure_future(watch)
        try:
            while not (await asyncio.wait({task}, timeout=self._times.check_s))[0]:
                now = await run_in_thread(_folder_identity, self._root)
                if now != identity and not task.done():
                    return SourceEnded("gone", "the folder was removed, or another took its place")
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _lost(self, reason: str) -> None:
        """Report no changes below a folder that is gone: they could be taken for the deletion of every note."""
        self.state = WatchState("failed", reason)
        self._pending.clear()
        await asyncio.sleep(self._times.check_s)


def _choose_source() -> ChangeSource:
    if os.uname().sysname == "Linux":
        from vaults.files.watch import inotify

        return inotify.follow
    from vaults.files.watch import watchfiles_source

    return watchfiles_source.follow


def _root_state(root: Path) -> tuple[tuple[int, int] | None, str | None]:
    return _folder_identity(root), find_network_disk(root)


def _folder_identity(root: Path) -> tuple[int, int] | None:
    """Which folder ``root`` is now; None if there is none. Needs no descriptor, as these may have run out."""
    try:
        status = root.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None

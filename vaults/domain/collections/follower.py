"""Following one collection: a first look, then whatever changes, until it is changed itself or the vault closes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from vaults.context import run_in
from vaults.domain.collections import collection_rows, reconciliation
from vaults.domain.collections.collection_model import Collection
from vaults.domain.collections.document_writes import CollectionChanged
from vaults.domain.collections.file_kinds import is_ignore_file, make_watched_names
from vaults.domain.collections.reconciliation import FilesVanished
from vaults.errors import StrongroomError, VaultUnavailable
from vaults.files.watch.folder_watcher import NOT_WATCHING_YET, Watcher, WatchTimes
from vaults.history.ancestry import Repository, WorkRepository
from vaults.vault import Vault

DEBOUNCE_S, FLOOD_S = 0.05, 1.0
"""Seconds of quiet before a saved file is read, and before all is looked at where too much changes to be listed."""

CHECK_S = 10.0
"""Seconds between two checks that a folder is still there: of 50 folders more would be felt."""

RETRY_S = 5.0
"""Seconds after a failure until all is looked at again."""

AGAIN_S = 2.0
"""Seconds until files of which most suddenly vanished are looked for again."""


class CollectionFollower:
    """Follows one collection as it is in its row. ``turns``: held while all of a collection is looked at, so that of
    many only some are at a time."""

    def __init__(self, vault: Vault, collection: Collection, turns: asyncio.Semaphore) -> None:
        self.collection = collection
        self._vault = vault
        self._turns = turns
        self._watcher: Watcher | None = None
        self._repository = WorkRepository(collection.fields.root if collection.fields.kind == "code" else None)
        self._told: tuple[str, str | None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin, or begin again after a failure."""
        self._task = asyncio.create_task(self._follow(), name="follow a collection")

    async def stop(self) -> None:
        """End, and wait until it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def has_failed(self) -> bool:
        """Whether a fault of ours ended it."""
        task = self._task
        return task is not None and task.done() and not task.cancelled() and task.exception() is not None

    async def find_news(self) -> dict[str, Any]:
        """What of the state changed since the last time: how the folder is watched, the commit that is checked out."""
        head = None
        if self.collection.fields.kind == "code":
            head = await run_in(self._vault.shared.pool, self._repository.ask, Repository.head)
        watching, lost = self._describe_watch()
        if (watching, head) == self._told:
            return {}
        self._told = (watching, head)
        news: dict[str, Any] = {"watching": watching, "head": head}
        return news | ({"phase": "unavailable", "reason": lost} if lost else {})

    def _describe_watch(self) -> tuple[str, str | None]:
        """How the folder is watched, and why it cannot be."""
        if self._watcher is None:
            return "off", None
        state = self._watcher.state
        if state.mode == "failed":
            return ("starting", None) if state.reason == NOT_WATCHING_YET else ("not now", state.reason)
        return (f"{state.mode}: {state.reason}" if state.reason else state.mode), None

    async def _update(self, **values: Any) -> None:
        await self._vault.db.write(lambda tx: collection_rows.update_state(tx, self.collection.seq, **values))

    async def _follow(self) -> None:
        settings = self._vault.shared.collections
        if not self.collection.fields.watch or settings.watch == "off":
            await self._look_until_done(None)
            return
        times = WatchTimes(
            debounce_s=DEBOUNCE_S, poll_s=settings.poll_s, rescan_s=settings.rescan_s, check_s=CHECK_S, flood_s=FLOOD_S
        )
        names = make_watched_names(self.collection.fields)
        self._watcher = watcher = Watcher(self.collection.fields.root, settings.watch, times, names)
        async with aclosing(watcher.changes()) as changes:
            async for changed in changes:
                everything = changed.rescan or any(map(is_ignore_file, changed.paths))
                started = time.monotonic()
                await self._look_until_done(None if everything else sorted(changed.paths))
                if everything:
                    watcher.record_full_look(time.monotonic() - started)

    async def _look_until_done(self, paths: Sequence[str] | None) -> None:
        """Look at everything (None) or some paths. After a failure, which the state tells, at everything again."""
        while True:
            try:
                await self._look(paths)
            except CollectionChanged:
                return  # a follower of what it is now takes over
            except StrongroomError as failure:
                phase = "unavailable" if isinstance(failure, VaultUnavailable) else "ready"
                await self._update(phase=phase, reason=failure.message)
                paths = None
                await asyncio.sleep(RETRY_S)
            else:
                return

    async def _look(self, paths: Sequence[str] | None) -> None:
        try:
            if paths is not None:
                await reconciliation.look_at(self._vault, self.collection, paths)
                return
            async with self._turns:
                await reconciliation.look_at_all(self._vault, self.collection)
        except FilesVanished as failure:
            await asyncio.sleep(AGAIN_S)
            async with self._turns:
                await reconciliation.look_at_all(self._vault, self.collection, expected=failure.missing)

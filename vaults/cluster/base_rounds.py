"""New bases for the open vaults of a server, as they become due: looked for with each beat."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.rebasing import rebase
from vaults.context import begin_apart
from vaults.errors import StrongroomError

AT_ONCE = 2
"""Bases that are made at a time: each packs megabytes."""


class BaseRounds:
    """On the event loop; ``close`` waits for the bases under way."""

    def __init__(self, held: HeldVaults) -> None:
        self._held = held
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="rebase")
        held.membership.on_beat.append(self._look)

    async def close(self) -> None:
        """Make no more."""
        self._held.membership.on_beat.remove(self._look)
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)

    def _look(self) -> None:
        for vault in self._held.ids():
            if len(self._under_way) >= AT_ONCE:
                return
            pages = self._held.pages_of(vault)
            if pages is not None and pages.is_rebase_due and vault not in self._under_way:
                task = begin_apart(self._rebase(vault), "rebase")
                self._under_way[vault] = task
                task.add_done_callback(partial(self._forget, vault))

    def _forget(self, vault: str, _task: asyncio.Task[None]) -> None:
        self._under_way.pop(vault, None)

    async def _rebase(self, vault: str) -> None:
        opened, pages = self._held.opened, self._held.pages_of(vault)
        if opened is None or pages is None:
            return
        async with opened.borrow(vault) as db:
            if db is not None and db.log is pages:
                with contextlib.suppress(StrongroomError):  # the base there is stands; due again with the next beat
                    await rebase(db, pages, self._threads)

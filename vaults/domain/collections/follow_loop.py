"""Following the collections of an open vault, in the process that holds its lease: those that come, change and go while
the server runs are noticed by the file that every change of them touches."""

from __future__ import annotations

import asyncio
import time

from vaults.domain.collections import collection_rows, removal
from vaults.domain.collections.change_signal import read_signal
from vaults.domain.collections.collection_model import Collection
from vaults.domain.collections.follower import CollectionFollower
from vaults.errors import StrongroomError
from vaults.vault import Vault

STEP_S = 0.5
"""Seconds between two looks whether a collection changed."""

REPORT_S = 5.0
"""Seconds between two looks at how folders are watched and which commits are checked out."""

LOOKS_AT_ONCE = 2
"""Collections of a vault of which all is looked at at a time: searches need the threads too."""


async def follow_collections(vault: Vault) -> None:
    """Follow all collections until cancelled."""
    loop = _CollectionsLoop(vault)
    try:
        while True:
            await loop.step()
            await asyncio.sleep(STEP_S)
    finally:
        await loop.stop()


class _CollectionsLoop:
    """The followers of a vault's collections."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._followers: dict[int, CollectionFollower] = {}
        self._turns = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._signal: tuple[int, int] | None = None
        self._reported = 0.0

    async def step(self) -> None:
        """Follow what is to be followed now. A failure is met again at the next step."""
        signal = read_signal(self._vault.folder)
        try:
            if signal != self._signal:
                await self._adjust()
                self._signal = signal
            if self._followers and time.monotonic() - self._reported > REPORT_S:
                self._reported = time.monotonic()
                await self._report()
        except StrongroomError:  # the database is busy or the disk full: whoever calls hears of it
            return

    async def stop(self) -> None:
        await asyncio.gather(*(each.stop() for each in self._followers.values()))

    async def _adjust(self) -> None:
        rows = {each.seq: each for each in await self._vault.db.read(collection_rows.list_collections)}
        states = await self._vault.db.read(collection_rows.read_states)
        for seq, follower in list(self._followers.items()):
            if rows.get(seq) != follower.collection:
                await self._followers.pop(seq).stop()
        for seq, collection in rows.items():
            read = states[seq].revision if seq in states else 0
            if seq not in self._followers and (collection.fields.watch or read != collection.revision):
                self._follow(collection)
        await removal.finish_removals(self._vault)
        self._reported = 0.0

    def _follow(self, collection: Collection) -> None:
        follower = self._followers[collection.seq] = CollectionFollower(self._vault, collection, self._turns)
        follower.start()

    async def _report(self) -> None:
        for follower in self._followers.values():
            if not follower.is_running and follower.has_failed:
                follower.start()
            await follower.report()

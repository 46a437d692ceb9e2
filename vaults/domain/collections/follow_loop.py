"""Following the collections of an open vault, in the process that holds its lease: those that come, change and go while
the server runs are noticed by the file that every change of them touches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from vaults.background_work import LastingTask
from vaults.db.sql import Writer
from vaults.domain.collections import collection_rows, removal
from vaults.domain.collections.change_signal import NO_SIGNAL, read_signal
from vaults.domain.collections.collection_model import Collection
from vaults.domain.collections.follower import CollectionFollower
from vaults.errors import StrongroomError
from vaults.vault import Vault

STEP_S = 0.5
"""Seconds between two looks whether a collection changed."""

REPORT_S = 5.0
"""Seconds between two looks at how folders are watched and which commits are checked out."""

START_S, STARTED_AT_ONCE = 2.0, 4
"""Seconds after a vault is opened until collections that were read before are looked at again, and how many of these
begin in each step: the first calls need not share the processor with them."""

LOOKS_AT_ONCE = 2
"""Collections of a vault of which all is looked at at a time: searches need the threads too."""


def keep_following(vault: Vault) -> LastingTask:
    """``follow_collections`` for a vault that is opened; begun again once there is a collection."""
    return LastingTask(
        "follow_collections", partial(follow_collections, vault), lambda: read_signal(vault.folder) != NO_SIGNAL
    )


async def follow_collections(vault: Vault) -> None:
    """Follow all collections until cancelled; returns for a vault that has none, whose lease others may need."""
    loop = _CollectionsLoop(vault)
    try:
        while not await loop.has_nothing():
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
        self._waiting: dict[int, Collection] = {}
        self._begun = time.monotonic()

    async def has_nothing(self) -> bool:
        """Whether there never was a collection. Rows without a signal are those of a vault that was copied."""
        if self._signal is not None or read_signal(self._vault.folder) != NO_SIGNAL:
            return False
        return not await self._vault.db.read(collection_rows.list_collections)

    async def step(self) -> None:
        """Follow what is to be followed now. A failure is met again at the next step."""
        signal = read_signal(self._vault.folder)
        try:
            if signal != self._signal:
                await self._adjust()
                self._signal = signal
            self._follow_waiting()
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
        self._waiting.clear()
        for seq, follower in list(self._followers.items()):
            if rows.get(seq) != follower.collection:
                await self._followers.pop(seq).stop()
        for seq, collection in rows.items():
            read = states[seq].revision if seq in states else 0
            if read == collection.revision:
                if collection.fields.watch and seq not in self._followers:
                    self._waiting[seq] = collection
            elif seq not in self._followers:
                self._follow(collection)
        await removal.finish_removals(self._vault)
        self._reported = 0.0

    def _follow_waiting(self) -> None:
        if time.monotonic() - self._begun >= START_S:
            for seq in list(self._waiting)[:STARTED_AT_ONCE]:
                self._follow(self._waiting.pop(seq))

    def _follow(self, collection: Collection) -> None:
        follower = self._followers[collection.seq] = CollectionFollower(self._vault, collection, self._turns)
        follower.start()

    async def _report(self) -> None:
        news: dict[int, dict[str, Any]] = {}
        for seq, follower in list(self._followers.items()):
            if follower.has_failed:
                follower.start()
            if found := await follower.find_news():
                news[seq] = found
        if news:
            await self._vault.db.write(partial(_write_news, news))


def _write_news(news: Mapping[int, Mapping[str, Any]], tx: Writer) -> None:
    for seq, values in news.items():
        collection_rows.update_state(tx, seq, **values)

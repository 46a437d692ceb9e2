"""The registered vaults in memory, kept current while others (the CLI, another worker) change the registry."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from vaults import registry
from vaults.db.transactions import Transactions
from vaults.errors import NotFound, StrongroomError
from vaults.registry import VaultEntry

POLL_S = 1.0
"""Seconds between two looks at the registry."""


class RegistryCache:
    """Active vaults by name, between ``start`` and ``close``. A look-up costs a dictionary access."""

    def __init__(self, control: Transactions) -> None:
        self._control = control
        self._marker: tuple[int, int] | None = None
        self._entries: dict[str, VaultEntry] = {}
        self.archived: frozenset[str] = frozenset()
        """Names of vaults that are kept, but served to nobody."""
        self.announced_work: dict[str, str] = {}
        """When commands last left work in a vault, by vault id."""
        self._task: asyncio.Task[None] | None = None
        # One reading at a time: of two, the older could end last, and hide what the newer found until the next poll.
        self._reading = asyncio.Lock()

    async def start(self) -> None:
        """Read the registry, then look for changes every ``POLL_S``."""
        await self.refresh()
        self._task = asyncio.create_task(self._poll(), name="registry-cache")

    async def close(self) -> None:
        """Stop reading. The database stays open: its owner closes it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self.refresh()
            except StrongroomError:
                continue  # the access cache reads the same file, and refuses everybody while it stays unreadable

    async def refresh(self) -> None:
        """Read the registry again, if anything was written since."""
        async with self._reading:
            marker = await self._control.version()  # before the read: what changes in between is seen next time
            if marker == self._marker:
                return
            entries, self.announced_work = await self._control.read(
                lambda tx: (registry.list_vaults(tx), registry.list_announced_work(tx))
            )
            self._entries = {entry.name: entry for entry in entries if entry.state == "active"}
            self.archived = frozenset(entry.name for entry in entries if entry.state == "archived")
            self._marker = marker

    def names(self) -> Collection[str]:
        """The names of active vaults, quick to search."""
        return self._entries.keys()

    def known(self, name: str) -> bool:
        return name in self._entries

    def entry(self, name: str) -> VaultEntry:
        """The entry of an active vault. Raises ``NotFound`` in the words used for a missing grant."""
        entry = self._entries.get(name)
        if entry is None:
            raise NotFound("no such vault, or no grant for it")
        return entry

    def entries(self) -> list[VaultEntry]:
        """Every active vault, by name."""
        return list(self._entries.values())

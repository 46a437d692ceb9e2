"""The chains of a process, of which only those in use hold their files open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ops.audit.chain import AuditChain
from ops.audit.chain_store import ChainStores
from ops.audit.content_hashes import open_hash_key
from ops.audit.links import INSTALLATION
from vaults.settings import StorageSettings


class OpenChains:
    """Every chain that was asked for, for as long as the process lives: what is owed and unsigned is not forgotten when
    files are closed. At most as many vaults' chains are open as vaults may be; every vault writes to the
    installation's."""

    def __init__(
        self,
        data: Path,
        stores: ChainStores,
        settings: StorageSettings,
        make_room: Callable[[], None],
        key_passphrase_file: str | None = None,
    ) -> None:
        self._data = data
        self._stores = stores
        self._key_passphrase_file = key_passphrase_file
        self._settings = settings
        self._make_room = make_room
        self._known: dict[str, AuditChain] = {}
        self._open: dict[str, AuditChain] = {}
        """Longest unused first."""
        self._used: set[str] = set()
        """Since ``rest`` was last called."""
        self._resting = asyncio.Lock()

    def __iter__(self) -> Iterator[AuditChain]:
        return iter(tuple(self._known.values()))

    def get(self, name: str) -> AuditChain:
        """The chain of that name; its file is opened when it is used."""
        found = self._known.get(name)
        if found is None:
            open_key = partial(open_hash_key, self._data, self._key_passphrase_file, name)
            found = AuditChain(name, self._stores.store(name), self._make_room, self._note_use, open_key)
            self._known[name] = found
        return found

    async def _note_use(self, chain: AuditChain) -> None:
        self._open.pop(chain.chain, None)
        self._open[chain.chain] = chain
        self._used.add(chain.chain)
        if len(self._open) > self._settings.open_vaults:
            await self._rest_excess()

    async def _rest_excess(self) -> None:
        async with self._resting:
            vaults = [name for name in self._open if name != INSTALLATION]
            for name in vaults[: max(0, len(vaults) - self._settings.open_vaults)]:
                await self._open.pop(name).rest()

    def list_idle(self) -> tuple[str, ...]:
        """The open chains that nobody used since ``rest`` was last called. Signing them is no use of theirs: ask before
        it, and ``rest`` them after it."""
        return tuple(name for name in self._open if name not in self._used)

    async def rest(self, idle: tuple[str, ...]) -> None:
        """Close the files of these, and begin to count uses anew."""
        async with self._resting:
            for name in idle:
                if (chain := self._open.pop(name, None)) is not None:
                    await chain.rest()
            self._used.clear()

    async def close(self) -> None:
        """Close all files."""
        for chain in self:
            await chain.close()

"""The audit of one process: the chain of the installation and those of vaults, kept signed while they grow."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from auth.keys import KEYS_FOLDER, KeyRing, open_key_ring
from ops.audit import chain_rows, retention, signing
from ops.audit.chain import AuditChain
from ops.audit.entries import AuditEntry
from ops.audit.forwarding import Forwarder, make_forwarders
from ops.audit.links import INSTALLATION
from ops.audit.open_chains import OpenChains
from ops.settings import AuditSettings
from vaults.disk_reserve import DiskReserve
from vaults.errors import AuditUnavailable, ChangeNotAudited, ReadOnly, StrongroomError
from vaults.settings import StorageSettings

SIGN_AFTER_S = 60.0
"""Seconds after which what was added is signed."""

SIGN_AFTER = 1000
"""Entries of a chain after which it is signed sooner."""

PRUNE_ROUNDS = 60
"""Rounds of signing between two looks for entries that are no longer kept."""


class AuditLog:
    """Where every change is recorded. Opens files when there is something to record, and signs in the background."""

    def __init__(
        self,
        data: Path,
        settings: AuditSettings,
        storage: StorageSettings,
        on_failing: Callable[[int], None] = lambda _: None,
        *,
        key_passphrase_file: str | None = None,
    ) -> None:
        self.data = data
        self.settings = settings
        self._key_passphrase_file = key_passphrase_file
        self._chains = OpenChains(data, storage, DiskReserve(data, storage).give_up)
        self._keys: KeyRing | None = None
        self._signer: asyncio.Task[None] | None = None
        self._grown = asyncio.Event()
        self._appending: set[asyncio.Task[None]] = set()
        self._signing = asyncio.Lock()
        self._closed = False
        self._on_failing = on_failing
        self._forwarders: tuple[Forwarder, ...] = ()

    def chain(self, name: str) -> AuditChain:
        """The chain of a vault, by the vault's id, or that of the installation."""
        return self._chains.get(name)

    @property
    def failing(self) -> tuple[str, ...]:
        """The chains that could not take the last entry."""
        return tuple(chain.chain for chain in self._chains if chain.failing)

    async def require_writable(self, name: str) -> None:
        """Call before a change. Raises ``AuditUnavailable``, or ``ReadOnly`` where nothing at all can be written."""
        chain = self.chain(name)
        if not chain.is_ready:
            try:
                await chain.prove_writable()
            finally:
                self._on_failing(len(self.failing))

    async def append(self, name: str, entry: AuditEntry) -> None:
        """Record what was done, and return once it is durable. Raises ``ChangeNotAudited``."""
        try:
            await self.chain(name).append(entry)
        except StrongroomError as failure:
            self._on_failing(len(self.failing))
            raise ChangeNotAudited(
                "it was done, but the audit could not take it: nothing else is changed until it can",
                hint="do not repeat it; the operator must look at the disk of the data folder",
                reason=failure.code,
                done=True,
            ) from failure
        self._tell(name)

    async def try_append(self, name: str, entry: AuditEntry) -> None:
        """Record what changed nothing: a failure, a read, a start. Where that cannot be written, the state of the chain
        says so, and whoever called is told of their call, not of this."""
        try:
            await self.chain(name).append(entry, at_any_price=False)
            self._tell(name)
        except StrongroomError:
            self._on_failing(len(self.failing))

    def append_later(self, name: str, entry: AuditEntry) -> None:
        """Record a call whose caller is gone; ``close`` waits for it."""
        task = asyncio.create_task(self.try_append(name, entry))
        self._appending.add(task)
        task.add_done_callback(self._appending.discard)

    @asynccontextmanager
    async def acting(self, act: AuditEntry) -> AsyncIterator[AuditEntry]:
        """Record an act that concerns the installation, when the block ends or fails. Raises ``AuditUnavailable``
        before the block runs where it could not be recorded."""
        await self.require_writable(INSTALLATION)
        try:
            yield act
        except StrongroomError as failure:
            await self.try_append(INSTALLATION, replace(act, outcome=failure.code))
            raise
        except BaseException:
            await self.try_append(INSTALLATION, replace(act, outcome="failed"))
            raise
        await self.append(INSTALLATION, act)

    def _tell(self, name: str) -> None:
        if self._signer is None and not self._closed:
            self._signer = asyncio.create_task(self._keep_signed(), name="audit")
        if self._chains.get(name).unsigned >= SIGN_AFTER:
            self._grown.set()
        for each in self._forwarders:
            each.tell(name)

    async def _keep_signed(self) -> None:
        rounds = 0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._grown.wait(), SIGN_AFTER_S)
            self._grown.clear()
            idle = self._chains.list_idle()
            await self.sign()
            await self._chains.rest(idle)
            await self._retry()
            if rounds % PRUNE_ROUNDS == 0:
                await self.prune()
            rounds += 1

    async def _retry(self) -> None:
        for name in self.failing:
            with contextlib.suppress(AuditUnavailable, ReadOnly):  # still so: the next change asks again
                await self.require_writable(name)

    async def keys(self) -> KeyRing:
        """The keys of this installation; the newest signs."""
        if self._keys is None:
            self._keys = await asyncio.to_thread(open_key_ring, self.data / KEYS_FOLDER, self._key_passphrase_file)
        else:
            await asyncio.to_thread(self._keys.refresh)
        return self._keys

    async def sign(self) -> None:
        """Sign every chain that grew. What cannot be signed now is signed later; ``doctor`` tells how old the last
        signature is."""
        async with self._signing:
            grown = [chain for chain in self._chains if chain.unsigned]
            if not grown:
                return
            with contextlib.suppress(StrongroomError, OSError):
                await signing.sign_chains(await self.keys(), self.chain(INSTALLATION), grown)

    async def prune(self) -> int:
        """Delete entries that are no longer kept, of the chains this process has open; returns how many."""
        if self.settings.keep == "forever":
            return 0
        gone = 0
        for chain in self._chains:
            with contextlib.suppress(StrongroomError, OSError):
                gone += await retention.prune(chain, await self.keys(), self.settings.keep)
        return gone

    async def settle(self, name: str) -> None:
        """Index what was written since, as far as the file can be written."""
        chain = self.chain(name)
        with contextlib.suppress(StrongroomError):
            while await chain.write(chain_rows.index_more):
                pass

    async def close(self) -> None:
        """Sign what was added, and close the files."""
        self._closed = True
        if self._signer is not None:
            self._signer.cancel()
            await asyncio.gather(self._signer, return_exceptions=True)
        if self._appending:
            await asyncio.gather(*self._appending)
        await self.sign()
        for each in self._forwarders:
            await each.close()
        await self._chains.close()

    def start_forwarding(self) -> None:
        """Send entries elsewhere from now on, where the settings ask for it. For servers: a command leaves what it
        added to the next of them."""
        self._forwarders = make_forwarders(self)
        for each in self._forwarders:
            each.start()

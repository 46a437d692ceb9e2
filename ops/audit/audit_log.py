"""The audit of one process: the chain of the installation and those of vaults, kept signed while they grow."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auth.keys import KEYS_FOLDER, KeyRing, open_key_ring
from ops.audit import chain_rows, retention, signing
from ops.audit.chain import AuditChain
from ops.audit.chain_files import ChainFiles
from ops.audit.chain_store import ChainStores
from ops.audit.entries import AuditEntry
from ops.audit.forwarding import Forwarder, make_forwarders
from ops.audit.links import INSTALLATION
from ops.audit.open_chains import OpenChains
from ops.audit.statements import ChainHead
from ops.settings import AuditSettings
from vaults import heap
from vaults.context import begin_apart
from vaults.disk_reserve import DiskReserve
from vaults.errors import (
    AuditUnavailable,
    ChangeNotAudited,
    ReadOnly,
    StorageFull,
    StrongroomError,
    VaultUnavailable,
)
from vaults.settings import StorageSettings

SIGN_AFTER_S = 60.0
"""Seconds after which what was added is signed."""

REST_AFTER_S = 5.0
"""Seconds between two looks for chains that nobody used since the last: their files are closed, which is some 400
KiB each."""

SIGN_AFTER = 1000
"""Entries of a chain after which it is signed sooner."""

INDEX_PAUSE_S = 0.02
"""Seconds between two steps of indexing, which calls wait for."""

INDEX_FOR_S = 20.0
"""Seconds of indexing between two rounds of signing."""

PRUNE_ROUNDS = 60
"""Rounds of signing between two looks for entries that are no longer kept, or that another server left unsigned."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditWatch:
    """Who is told how many chains cannot be written, and that the upkeep met what nobody foresaw."""

    on_failing: Callable[[int], None] = lambda _: None
    on_defect: Callable[[], None] = lambda: None


UNWATCHED = AuditWatch()


class AuditLog:
    """Where every change is recorded. Opens files when there is something to record, and signs in the background."""

    def __init__(
        self,
        data: Path,
        settings: AuditSettings,
        storage: StorageSettings,
        watch: AuditWatch = UNWATCHED,
        *,
        key_passphrase_file: str | None = None,
        stores: ChainStores | None = None,
    ) -> None:
        self.data = data
        self.stores = stores or ChainFiles(data, storage)
        self.settings = settings
        self._key_passphrase_file = key_passphrase_file
        make_room = _keep_room if self.stores.are_shared else DiskReserve(data, storage).give_up
        self._chains = OpenChains(data, self.stores, storage, make_room, key_passphrase_file)
        self._keys: KeyRing | None = None
        self._upkeep: asyncio.Task[None] | None = None
        self._grown = asyncio.Event()
        self._begun: set[asyncio.Task[None]] = set()
        self._signing = asyncio.Lock()
        self._untold: dict[str, ChainHead] = {}
        """Where chains of vaults stand that were signed, and the installation's does not tell yet."""
        self._searched: set[str] = set()
        self._closed = False
        self._on_failing = watch.on_failing
        self._on_defect = watch.on_defect
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
                hint=f"do not repeat it; the operator must look at {self.chain(name).place}",
                reason=failure.code,
                done=True,
            ) from failure
        self._tell(name)

    async def append_or_owe(self, name: str, entry: AuditEntry) -> None:
        """Record a call that may have changed something and failed: its caller is told of that, not of this. Where it
        cannot be written now, it is owed, as every change is."""
        with contextlib.suppress(ChangeNotAudited):
            await self.append(name, entry)

    async def try_append(self, name: str, entry: AuditEntry) -> None:
        """Record what changed nothing: a refusal, a read, a start. Where that cannot be written, the state of the chain
        says so, and whoever called is told of their call, not of this."""
        try:
            await self.chain(name).try_append(entry)
            self._tell(name)
        except StrongroomError:
            self._on_failing(len(self.failing))

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have a call recorded whose caller does not wait for it; ``close`` does."""
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    @asynccontextmanager
    async def acting(self, act: AuditEntry) -> AsyncIterator[AuditEntry]:
        """Record an act that concerns the installation, when the block ends or fails. Raises ``AuditUnavailable``
        before the block runs where it could not be recorded."""
        await self.require_writable(INSTALLATION)
        try:
            yield act
        except StrongroomError as failure:
            await self.append_or_owe(INSTALLATION, replace(act, outcome=failure.code))
            raise
        except BaseException:
            await self.append_or_owe(INSTALLATION, replace(act, outcome="failed"))
            raise
        await self.append(INSTALLATION, act)

    def _tell(self, name: str) -> None:
        self._start_upkeep()
        if self._chains.get(name).unsigned >= SIGN_AFTER:
            self._grown.set()
        for each in self._forwarders:
            each.tell(name)

    def start(self) -> None:
        """Begin what only servers do: sign what a process that was killed left unsigned, and send entries elsewhere
        where the settings ask for it. A command leaves what it added to the next server."""
        self._forwarders = make_forwarders(self)
        for each in self._forwarders:
            each.start()
        self._upkeep = begin_apart(self._run_upkeep(first=self._adopt), "audit")

    def _start_upkeep(self) -> None:
        if self._upkeep is None and not self._closed:
            self._upkeep = begin_apart(self._run_upkeep(first=self._run_nothing), "audit")

    async def _run_nothing(self) -> None:
        """What a command begins with, and what is done for others where there are none."""

    async def _run_upkeep(self, first: Callable[[], Awaitable[None]]) -> None:
        await self._run_safely(first)
        for number in itertools.count():
            await self._await_round()
            self._grown.clear()
            await self._run_safely(self._run_round)
            await self._run_safely(self._index)
            if number % PRUNE_ROUNDS == 0:
                await self._run_safely(self._adopt if self.stores.are_shared else self._run_nothing)
                await self._run_safely(self.prune)

    async def _await_round(self) -> None:
        """Until there is much to sign, or something for long."""
        until = time.monotonic() + SIGN_AFTER_S
        while not self._grown.is_set() and (left := until - time.monotonic()) > 0:
            # Not wait_for, which swallows a cancellation that comes as the event is set: closing would wait for ever.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, REST_AFTER_S)):
                    await self._grown.wait()
            await self._run_safely(self._rest_idle)

    async def _rest_idle(self) -> None:
        idle = self._chains.list_idle()
        await self._chains.rest(idle)
        if idle:
            await asyncio.to_thread(heap.trim)

    async def _run_safely(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except Exception:  # noqa: BLE001  the next round tries again: else nothing would be signed any more
            self._on_defect()
            _log.exception("the audit's upkeep failed")

    async def _run_round(self) -> None:
        idle = self._chains.list_idle()
        await self.sign()
        await self._chains.rest(idle)
        await self._retry()

    async def _retry(self) -> None:
        for name in self.failing:
            with contextlib.suppress(AuditUnavailable, ReadOnly):  # still so: the next change asks again
                await self.require_writable(name)

    async def _adopt(self) -> None:
        """Have signed what a process left unsigned that was killed."""
        for name in await asyncio.to_thread(self.stores.unsigned):
            chain = self.chain(name)
            with contextlib.suppress(StrongroomError):  # the check and doctor tell of a chain that cannot be read
                chain.unsigned += await chain.write(chain_rows.count_unsigned)
                if await chain.write(chain_rows.read_indexed):
                    self._searched.add(name)
        await self.sign()

    async def keys(self) -> KeyRing:
        """The keys of this installation; the newest signs."""
        if self._keys is None:
            self._keys = await asyncio.to_thread(open_key_ring, self.data / KEYS_FOLDER, self._key_passphrase_file)
        else:
            await asyncio.to_thread(self._keys.refresh)
        return self._keys

    async def known_keys(self) -> KeyRing:
        """The keys of this installation, to check with: none is made where there is none."""
        ring = KeyRing(self.data / KEYS_FOLDER, self._key_passphrase_file)
        if ring.folder.is_dir():
            await asyncio.to_thread(ring.refresh)
        return ring

    async def sign(self) -> None:
        """Sign every chain that grew. What cannot be signed now is signed later, and does not keep the others from it;
        ``doctor`` tells how old the last signature is."""
        async with self._signing:
            grown = [chain for chain in self._chains if chain.unsigned]
            if not grown and not self._untold:
                return
            with _saying_what_failed("the keys"):
                await self._sign_chains(await self.keys(), grown)

    async def _sign_chains(self, keys: KeyRing, grown: Sequence[AuditChain]) -> None:
        installation, stood = self.chain(INSTALLATION), None
        vaults = [chain for chain in grown if chain is not installation]
        if vaults:
            with _saying_what_failed(INSTALLATION):
                stood = await installation.head()
        for chain in vaults:
            with _saying_what_failed(chain.chain):
                self._untold[chain.chain] = await signing.sign_vault(keys, chain, stood)
        with _saying_what_failed(INSTALLATION):
            await signing.sign_installation(keys, installation, self._untold)
            self._untold = {}

    async def prune(self) -> int:
        """Delete entries that are no longer kept, also of vaults that are gone; returns how many."""
        if self.settings.keep == "forever":
            return 0
        gone = 0
        for name in await asyncio.to_thread(self.stores.begun_before, retention.oldest_kept(self.settings.keep)):
            with contextlib.suppress(StrongroomError, OSError):  # doctor tells of a chain that cannot be written
                gone += await retention.prune(self.chain(name), await self.keys(), self.settings.keep)
        return gone

    async def settle(self, name: str, within_s: float) -> None:
        """Index what was written since, as far as the file can be written and the time goes. From now on what comes is
        indexed beside the calls, and so is the rest."""
        until = time.monotonic() + within_s
        self._searched.add(name)
        with contextlib.suppress(ReadOnly, StorageFull, VaultUnavailable):
            while await self.chain(name).write(chain_rows.index_more) and time.monotonic() < until:
                pass
            self._grown.set()

    async def _index(self) -> None:
        """Index what came of chains that somebody searches, in steps that leave room for calls."""
        until = time.monotonic() + INDEX_FOR_S
        for name in tuple(self._searched):
            more = 1
            with contextlib.suppress(StrongroomError):  # the next search tells
                while more and time.monotonic() < until:
                    more = await self.chain(name).write(chain_rows.index_more)
                    await asyncio.sleep(INDEX_PAUSE_S)
            if more:
                self._grown.set()  # on with it in the next round, after signing

    async def close(self) -> None:
        """Write what is owed and sign what was added, as far as possible, and close the files."""
        self._closed = True
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.gather(self._upkeep, return_exceptions=True)
        await asyncio.gather(*self._begun, return_exceptions=True)
        await self._retry()
        await self.sign()
        for each in self._forwarders:
            await each.close()
        await self._chains.close()


def _keep_room() -> None:
    """What is kept on this disk helps no database elsewhere."""


@contextlib.contextmanager
def _saying_what_failed(what: str) -> Iterator[None]:
    try:
        yield
    except (StrongroomError, OSError) as failure:
        _log.warning("the audit could not be signed: %s: %s", what, type(failure).__name__)

"""One chain of the audit: proved writable before a change, and what it is owed where it was not.

Entries that come while others are written share the next transaction, and so one fsync.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ops.audit import chain_rows
from ops.audit.chain_files import to_typed
from ops.audit.chain_store import ChainStore
from ops.audit.content_hashes import HashKey
from ops.audit.entries import AuditEntry, EntryText, to_text
from ops.audit.statements import ChainHead
from vaults.context import begin_apart
from vaults.db.sql import Reader, Writer
from vaults.errors import AuditUnavailable, ReadOnly, StorageFull, StrongroomError, VaultQuarantined

T = TypeVar("T")

MAX_OWED = 10_000
"""Entries kept in memory that could not be written. Nothing is changed meanwhile, so there are few."""

MAX_TOGETHER = 256
"""Entries of one transaction at most: the first of them waits for the last."""

READY_S = 0.005
"""Seconds for which a look at file and disk holds."""


@dataclass(slots=True)
class _WaitingEntry:
    """An entry on its way to the file. ``of_change``: it takes also the room that is kept for a full disk, and is owed
    where there is none."""

    entry: AuditEntry
    text: EntryText
    of_change: bool
    done: asyncio.Future[None]


class AuditChain:
    """Append-only. ``make_room`` frees what is kept for a full disk; ``open_key`` blocks, and returns the key of hashes
    of content."""

    def __init__(
        self,
        chain: str,
        store: ChainStore,
        make_room: Callable[[], None],
        note_use: Callable[[AuditChain], Awaitable[None]],
        open_key: Callable[[], HashKey],
    ) -> None:
        self.chain = chain
        self._store = store
        self._make_room = make_room
        self._note_use = note_use
        self._open_key = open_key
        self._key: HashKey | None = None
        self._ready_until = 0.0
        self._proving = asyncio.Lock()
        self._waiting: list[_WaitingEntry] = []
        self._writing: asyncio.Task[None] | None = None
        self._owed: list[AuditEntry] = []
        self.failing = False
        self.unsigned = 0
        """Entries since the chain was last signed, as far as this process knows."""

    @property
    def exists(self) -> bool:
        """Whether anything may have been written to it."""
        return self._store.exists

    @property
    def is_ready(self) -> bool:
        """Whether the next entry can be expected to be taken: cheap enough to ask before every change. Calls of one
        moment share one look, which is younger than any of them takes."""
        if self._key is None or self.failing:
            return False
        now = time.monotonic()
        if now >= self._ready_until and self._store.is_in_place() and self._store.has_room():
            self._ready_until = now + READY_S
        return now < self._ready_until

    async def prove_writable(self) -> None:
        """Return if the chain can be written, by writing to it; what it is owed first. Raises ``AuditUnavailable``, or
        ``ReadOnly`` where the data folder cannot be written at all."""
        async with self._proving:
            owed = tuple(self._owed)
            try:
                key = await self._load_key()
                texts = [to_text(each, key) for each in owed]
                self._require_room()
                await self._write_with_room(partial(self._store.append, texts) if texts else self._store.prove_writable)
            except ReadOnly:
                self.failing = True
                raise
            except StrongroomError as failure:
                self.failing = True
                raise AuditUnavailable(
                    "the audit cannot be written, so nothing was changed",
                    hint=f"reading still works; the operator must look at {self._place_to_look(failure)}",
                    reason=failure.details.get("reason", failure.code),
                ) from failure
            del self._owed[: len(owed)]
            self.unsigned += len(owed)
            self.failing = bool(self._owed)  # of calls that ended meanwhile

    def _require_room(self) -> None:
        """Raise ``StorageFull`` where the entry of a change that is about to be made might find no room."""
        if self._store.is_open and not self._store.has_room():
            self._make_room()
            if not self._store.has_room():
                raise StorageFull("the disk is full", hint="free space; reading still works")

    async def append(self, entry: AuditEntry) -> None:
        """Add the entry of a change and return once it is durable. It takes also the room that is kept for a full disk.
        Raises what the store raises, and then owes the entry, whether its caller still waits or not."""
        try:
            key = await self._load_key()
        except StrongroomError:
            self._owe([entry])
            raise
        await self._put(entry, key, of_change=True)

    async def try_append(self, entry: AuditEntry) -> None:
        """Add the entry of what changed nothing. Raises what the store raises."""
        try:
            key = await self._load_key()
        except StrongroomError:
            self.failing = True
            raise
        await self._put(entry, key, of_change=False)

    async def _put(self, entry: AuditEntry, key: HashKey, *, of_change: bool) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingEntry(entry, to_text(entry, key), of_change, done))
        if self._writing is None or self._writing.done():
            self._writing = begin_apart(self._write_waiting(), "audit-entries")
        await done

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_TOGETHER], self._waiting[MAX_TOGETHER:]
            try:
                await self._write_batch(batch)
            except Exception as failure:  # noqa: BLE001  every caller of the batch gets the failure
                self.failing = True
                self._owe([each.entry for each in batch if each.of_change])
                for each in batch:
                    if not each.done.done():
                        each.done.set_exception(failure)
                continue
            self.unsigned += len(batch)
            for each in batch:
                if not each.done.done():
                    each.done.set_result(None)

    async def _write_batch(self, batch: Sequence[_WaitingEntry]) -> None:
        work = partial(self._store.append, [each.text for each in batch])
        await (self._write_with_room(work) if any(each.of_change for each in batch) else self._use(work))

    def _owe(self, entries: Sequence[AuditEntry]) -> None:
        self.failing = True
        self._owed += entries[: max(0, MAX_OWED - len(self._owed))]

    async def _write_with_room(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self._use(work)
        except StorageFull:
            self._make_room()
            return await self._use(work)

    async def _use(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        finally:
            await self._note_use(self)

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Write beside the entries: what was signed, indexed, forwarded or pruned."""
        return await self._use(partial(self._store.write, work))

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Read in one snapshot."""
        return await self._use(partial(self._store.read, work))

    async def head(self) -> ChainHead:
        """The last entry."""
        # By the writer, which is open: a reader would be one more connection for a single look.
        return await self.write(lambda tx: chain_rows.read_head(tx, self.chain))

    async def to_texts(self, entries: Sequence[AuditEntry]) -> list[EntryText]:
        """Entries as this chain would store them."""
        key = await self._load_key()
        return [to_text(each, key) for each in entries]

    async def _load_key(self) -> HashKey:
        if self._key is None:
            try:
                self._key = await asyncio.to_thread(self._open_key)
            except OSError as failure:
                raise to_typed(failure) from failure
        return self._key

    async def rest(self) -> None:
        """Let go of the descriptors nothing is using; the next use opens what it needs."""
        await self._store.rest()

    async def close(self) -> None:
        """Write what waits, and close; the next use opens it again."""
        if self._writing is not None:
            await self._writing
        await self._store.close()

    @property
    def place(self) -> str:
        """Where an operator looks who finds that it cannot be written."""
        return self._store.place

    def _place_to_look(self, failure: StrongroomError) -> str:
        if isinstance(failure, VaultQuarantined):
            return f"the file of this audit, which was refused: {failure.message}"
        return self.place

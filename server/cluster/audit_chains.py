"""The chains of the audit in the cluster's database: any server adds to any of them, and a burnt one takes none along.

An entry costs one statement with one commit, and what is durable does not wait for a vault's holder: a chain is neither
taken nor given back. A server remembers where it left a chain; where another one added to it, the number is taken, and
it looks again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

from ops.audit import chain_rows
from ops.audit.chain_store import ChainStore, SenderLease
from ops.audit.entries import EntryText, to_body
from ops.audit.links import link
from ops.audit.statements import ChainHead
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.advisory_lease import AdvisoryLease
from vaults.cluster.postgres.chain_tables import TRIES, ChainRow, ChainTables
from vaults.cluster.postgres.connections import Connections
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.errors import StrongroomError

T = TypeVar("T")

THREADS = 4
"""Statements of the audit under way at once: each takes a connection."""


class ClusterChain:
    """A ``ChainStore``."""

    place = "the cluster's database"
    exists = True
    is_open = True

    def __init__(self, chain: str, tables: ChainTables, threads: ThreadPoolExecutor) -> None:
        self._chain = chain
        self._tables = tables
        self._threads = threads
        self._number: int | None = None
        self._head: ChainHead | None = None
        """Where this server left the chain."""
        self._unanswered: list[tuple[ChainHead, Sequence[EntryText]]] = []
        """What was sent and not answered: the head it leads to, and its entries."""
        self._appending = asyncio.Lock()

    def is_in_place(self) -> bool:
        """The contract's."""
        return True

    def has_room(self) -> bool:
        """The contract's: a database that is full refuses the change itself."""
        return True

    async def append(self, entries: Sequence[EntryText]) -> None:
        """The contract's. Raises ``LogUnavailable``, ``ReadOnly``, ``StorageFull``."""
        async with self._appending:
            await run_in(self._threads, self._append, entries)

    def _append(self, entries: Sequence[EntryText]) -> None:
        number = self._require_number()
        for _ in range(TRIES):
            entries = self._drop_added(number, entries)
            if not entries:
                return
            head = self._head or self._read_head(number)
            rows = _to_rows(head, entries)
            end = ChainHead(rows[-1].seq, rows[-1].hash)
            self._head = None
            try:
                is_added = self._tables.append(number, head.seq, head.hash, rows)
            except StrongroomError:
                self._unanswered.append((end, entries))
                raise
            if is_added:
                self._head, self._unanswered = end, []
                return
        raise LogUnavailable("other servers add to this chain of the audit all the time")

    def _drop_added(self, number: int, entries: Sequence[EntryText]) -> Sequence[EntryText]:
        """Without those that were sent before, not answered, and added all the same."""
        for end, sent in self._unanswered:
            if self._tables.read(number, partial(chain_rows.read_hash, seq=end.seq)) == end.hash:
                self._head, self._unanswered = None, []
                left = Counter(sent)
                return [each for each in entries if not _take(left, each)]
        return entries

    async def prove_writable(self) -> None:
        """The contract's."""
        await self.write(lambda tx: tx.run("UPDATE indexed SET seq = seq"))

    async def write(self, work: Callable[[Writer], T]) -> T:
        """The contract's."""
        return await run_in(self._threads, self._write, work)

    def _write(self, work: Callable[[Writer], T]) -> T:
        return self._tables.write(self._require_number(), work)

    async def read(self, work: Callable[[Reader], T]) -> T:
        """The contract's."""
        return await run_in(self._threads, self._read, work)

    def _read(self, work: Callable[[Reader], T]) -> T:
        return self._tables.read(self._require_number(), work)

    async def rest(self) -> None:
        """The contract's: nothing is open."""

    async def close(self) -> None:
        """The contract's: nothing is open."""

    def _require_number(self) -> int:
        if self._number is None:
            self._number = self._tables.register(self._chain)
        return self._number

    def _read_head(self, number: int) -> ChainHead:
        return self._tables.read(number, partial(chain_rows.read_head, chain=self._chain))


class ClusterChains:
    """``ChainStores`` of an installation of several servers. ``close`` it after the audit."""

    are_shared = True

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._tables = ChainTables(connections)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="audit")

    def store(self, chain: str) -> ChainStore:
        """The contract's."""
        return ClusterChain(chain, self._tables, self._threads)

    def names(self) -> Sequence[str]:
        """The contract's."""
        return self._tables.names()

    def unsigned(self) -> Sequence[str]:
        """The contract's: also those that another server is about to sign."""
        return self._tables.unsigned()

    def unsigned_before(self, moment: int) -> Sequence[str]:
        """Chains with entries that nobody signed, of before a moment in milliseconds since 1970."""
        return self._tables.unsigned(moment)

    def begun_before(self, moment: int) -> Sequence[str]:
        """The contract's."""
        return self._tables.begun_before(moment)

    def unsent(self, receiver: str) -> Sequence[str]:
        """The contract's."""
        return self._tables.unsent(receiver)

    def sender_lease(self, receiver: str) -> SenderLease:
        """A lock of PostgreSQL's, which ends with this server or its connection."""
        return AdvisoryLease(self._connections, f"audit {receiver}")

    def close(self) -> None:
        """Returns when nothing is under way."""
        self._threads.shutdown()


def open_chains(stack: AsyncExitStack, connections: Connections) -> ClusterChains:
    """The chains of the installation; ``stack`` closes them."""
    chains = ClusterChains(connections)
    stack.callback(chains.close)
    return chains


def _to_rows(head: ChainHead, entries: Sequence[EntryText]) -> list[ChainRow]:
    rows, last = [], head.hash
    for seq, each in enumerate(entries, head.seq + 1):
        body = to_body(seq, each)
        last = link(last, body)
        rows.append(ChainRow(seq, each.at, body, last))
    return rows


def _take(left: Counter[EntryText], entry: EntryText) -> bool:
    """Whether it is one of those that are left, which is one fewer then."""
    left[entry] -= 1
    return left[entry] >= 0

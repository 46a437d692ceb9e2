"""Where the chains of an installation lie: in a file each on one machine, in one database where several serve them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ops.audit.entries import EntryText
from vaults.db.sql import Reader, Writer

T = TypeVar("T")


class ChainStore(Protocol):
    """The rows of one chain. Work on it runs on another thread, in one transaction, and may run again where it met
    another process. Everything raises what keeps it from the rows, as ``StorageFull`` or ``VaultUnavailable``."""

    @property
    def place(self) -> str:
        """Where an operator looks who finds that it cannot be written."""

    @property
    def exists(self) -> bool:
        """Whether anything may have been written to it."""

    @property
    def is_open(self) -> bool:
        """Whether it was used before."""

    def is_in_place(self) -> bool:
        """Whether what was opened is still there: cheap enough to ask before every change."""

    def has_room(self) -> bool:
        """Whether the next entry should fit: as cheap."""

    async def append(self, entries: Sequence[EntryText]) -> None:
        """Add entries at the end, and return once they are durable. Of those of a call that failed, those that were
        added all the same are not added again."""

    async def prove_writable(self) -> None:
        """Return if it can be written, by writing to it."""

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Write beside the entries."""

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Read in one snapshot."""

    async def rest(self) -> None:
        """Let go of the descriptors nothing is using."""

    async def close(self) -> None:
        """Close what is open; the next use opens it again."""


class SenderLease(Protocol):
    """Held by the one process of an installation that sends entries to a receiver. Blocking."""

    def try_acquire(self) -> bool:
        """Whether this process has it; asked again and again, also by who has it."""

    def release(self) -> None:
        """Give it back, if it is held."""


class ChainStores(Protocol):
    """All chains of an installation. Blocking."""

    @property
    def are_shared(self) -> bool:
        """Whether other servers, which may be gone, add to them."""

    def store(self, chain: str) -> ChainStore:
        """The rows of one chain, which are looked at when they are used."""

    def names(self) -> Sequence[str]:
        """The chains there are."""

    def unsigned(self) -> Sequence[str]:
        """Chains that may hold entries which nobody is going to sign."""

    def begun_before(self, moment: int) -> Sequence[str]:
        """Chains that may hold entries of before a moment, in milliseconds since 1970."""

    def unsent(self, receiver: str) -> Sequence[str]:
        """Chains that may hold entries which a receiver did not take yet."""

    def sender_lease(self, receiver: str) -> SenderLease:
        """The right to send to a receiver."""

"""How much more may be stored, as the code that stores asks it. A layer above decides: it knows callers and plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from vaults.db.sql import Reader
from vaults.domain.memories.storage import StoreResult
from vaults.errors import StrongroomError


class QuotaReservation(Protocol):
    """Stores counted before they happen."""

    @property
    def stores(self) -> int:
        """How many."""
        ...

    def give_back(self, stores: int) -> None:
        """Uncount ``stores`` that were not needed."""
        ...


class Quota(Protocol):
    """Asked twice: before the work, and again inside the transaction that stores, because many write at once."""

    async def take(self, stores: int) -> QuotaReservation:
        """Reserve up to ``stores`` of them. Raises ``QuotaExceeded`` when none is left."""
        ...

    def room(self, tx: Reader, more: int) -> int:
        """How many of ``more`` further memories the vault takes. Raises ``QuotaExceeded`` when none; with 0, when it
        holds more than it may: asked after storing, so that what took the place of another needs no room."""
        ...


class _UnlimitedReservation:
    """A reservation of any number of stores."""

    def __init__(self, stores: int) -> None:
        self.stores = stores

    def give_back(self, stores: int) -> None:
        """Does nothing: nobody counts."""


class Unlimited:
    """A quota that is never used up."""

    async def take(self, stores: int) -> QuotaReservation:
        return _UnlimitedReservation(stores)

    def room(self, tx: Reader, more: int) -> int:  # noqa: ARG002  as every quota
        return more


UNLIMITED: Quota = Unlimited()


async def store_within_quota(quota: Quota, store: Callable[[], Awaitable[StoreResult]]) -> StoreResult:
    """Store one memory and count it, unless the store fails or the memory was there already. A store that was
    interrupted stays counted: it may have happened."""
    taken = await quota.take(1)
    try:
        stored = await store()
    except StrongroomError:
        taken.give_back(1)
        raise
    if stored.duplicate_of == stored.id or stored.version is not None:
        taken.give_back(1)
    return stored

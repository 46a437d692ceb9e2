"""How much more may be stored, as those who store ask it. Who decides stands above: limits know callers and plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from vaults.db.sql import Reader
from vaults.domain.memories.storage import StoreResult
from vaults.errors import StrongroomError


class QuotaReservation(Protocol):
    """Stores that were counted before they happen."""

    @property
    def stores(self) -> int:
        """How many."""
        ...

    def give_back(self, stores: int) -> None:
        """So many were not needed."""
        ...


class Quota(Protocol):
    """Asked twice: before the work, and inside the transaction that stores, because many write at once."""

    async def take(self, stores: int) -> QuotaReservation:
        """Count up to ``stores`` of them. Raises ``QuotaExceeded`` when not one is left."""
        ...

    def room(self, tx: Reader, more: int) -> int:
        """How many of ``more`` further memories the vault takes. Raises ``QuotaExceeded`` when not one; with 0, when
        it holds more than it may: asked after storing, so that what took the place of another needs no room."""
        ...


class _UnlimitedReservation:
    """As many as are wanted."""

    def __init__(self, stores: int) -> None:
        self.stores = stores

    def give_back(self, stores: int) -> None:
        """Nobody counts."""


class Unlimited:
    """A quota that is never used up."""

    async def take(self, stores: int) -> QuotaReservation:
        return _UnlimitedReservation(stores)

    def room(self, tx: Reader, more: int) -> int:  # noqa: ARG002  as every quota
        return more


UNLIMITED: Quota = Unlimited()


async def store_within_quota(quota: Quota, store: Callable[[], Awaitable[StoreResult]]) -> StoreResult:
    """Store one memory and count it, unless that fails or the memory was there already. A store that was cut off
    stays counted: it may have happened."""
    taken = await quota.take(1)
    try:
        stored = await store()
    except StrongroomError:
        taken.give_back(1)
        raise
    if stored.duplicate_of == stored.id:
        taken.give_back(1)
    return stored

"""What the part that knows who holds a vault asks of the part that has it open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from vaults.db.connection import Database
from vaults.vault_hosting import VaultUse


class OpenVaults(Protocol):
    """The vaults that are open in this process, by id. On the event loop."""

    def idle_s(self, vault_id: str) -> float:
        """Seconds since a call last had it: 0 while one has it, or it is being opened, or does work of its own;
        infinite where it is not open."""

    def uses(self) -> Sequence[VaultUse]:
        """Of each that is open."""

    def borrow(self, vault_id: str) -> AbstractAsyncContextManager[Database | None]:
        """Its database, which stays open as for a call; None where it is not open."""

    async def vacate(self, vault_id: str, within_s: float) -> None:
        """Close it once the calls that have it have ended, at the latest after ``within_s``; no other call gets it
        as it is. Returns when nothing of it is open."""

    def lose(self, vault_id: str) -> None:
        """Close it now, whatever its calls do: nothing of it may be answered any more."""

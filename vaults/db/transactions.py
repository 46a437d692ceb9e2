"""What users of ``control.db`` ask of it, wherever its tables lie: in a file, or in a database of several servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from vaults.db.sql import Reader, Writer

T = TypeVar("T")


class Transactions(Protocol):
    """``Database`` is one over a file. Work runs on another thread, inside one transaction, and waits for nothing."""

    is_shared: bool
    """Whether several servers have it: no folder of this machine is the only place of anything then."""

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run ``work`` in one read snapshot."""

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Run ``work`` with no other writer beside it, and return once what it wrote is durable."""

    async def write_uncounted(self, work: Callable[[Writer], T]) -> T:
        """``write`` for bookkeeping that no cache follows."""

    async def version(self) -> tuple[int, int]:
        """A mark that changes with each counted write, here or in another process; cheap."""

    async def close(self) -> None:
        """Finish what was accepted, then close every connection."""

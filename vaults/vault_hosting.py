"""Where the files of a vault come from, and whether another server has it: on one machine they are simply there.

The pool asks before it opens a vault and tells after it closed one. What several servers agree on lies behind this, in
``vaults/cluster``, which one machine never imports.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vaults.errors import VaultQuarantined, VaultUnavailable
from vaults.registry import VaultEntry

if TYPE_CHECKING:
    from vaults.db.connection import Database


class VaultElsewhere(VaultUnavailable):
    """Another server holds the vault, or is the one that should. ``address``: host:port where other servers reach it;
    None where nobody alive is known to hold it."""

    def __init__(self, server: str | None, address: str | None) -> None:
        super().__init__("another server has the vault", hint="call again")
        self.server = server
        self.address = address


@dataclass(frozen=True, slots=True)
class VaultUse:
    """Of an open vault. ``calls``: how many had it since it was opened; ``longest_call_s``: since when the first of
    those has it that have not ended, 0 where all have; ``vector_bytes``: of its vectors in memory."""

    vault: str
    calls: int
    longest_call_s: float
    vector_bytes: int


class VaultHosting(Protocol):
    """What the pool asks of whoever knows which vaults this process may serve. All on the event loop."""

    async def take(self, entry: VaultEntry, folder: Path) -> None:
        """Have the vault, with its files in ``folder`` as they were last acknowledged; nobody else serves it until
        ``put_down``, or until it is lost. Raises ``VaultElsewhere``, ``VaultUnavailable``, ``VaultQuarantined``."""

    async def furnish(self, entry: VaultEntry, folder: Path, db: Database) -> None:
        """Lay out in ``folder`` what else belongs there, from the vault's database: it was opened and found sound, and
        nobody is answered yet. Raises ``VaultQuarantined``, ``VaultUnavailable``; then it is called again."""

    async def put_down(self, entry: VaultEntry, folder: Path) -> None:
        """The vault is closed, and nothing of it is open in this process."""

    def drop_damaged(self, vault_id: str, found: VaultQuarantined) -> bool:
        """Damage was found in an open vault, or in one that was being opened. True: its files are a copy, which is
        closed and dropped, and ``take`` makes it anew."""


class LocalHosting:
    """The default: every vault is here, and stays."""

    async def take(self, entry: VaultEntry, folder: Path) -> None:
        """Nothing."""

    async def furnish(self, entry: VaultEntry, folder: Path, db: Database) -> None:
        """Nothing."""

    async def put_down(self, entry: VaultEntry, folder: Path) -> None:
        """Nothing."""

    def drop_damaged(self, vault_id: str, found: VaultQuarantined) -> bool:  # noqa: ARG002  as the protocol has it
        """False: they are all there is."""
        return False


LOCAL_HOSTING = LocalHosting()

"""A vault of notes on disk, and tools that work on it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.dispatch import CallOutcome
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.work import PATIENCE_S
from vaults.domain.notes.index import reconciliation
from vaults.vault import Vault


@dataclass
class Desk:
    """``root``: the folder of notes. Nothing watches it: ``look`` lets the index follow."""

    services: Services
    vault: Vault
    root: Path
    ask: Asking

    async def put(self, notes: Mapping[str, str | bytes]) -> None:
        """Write files as another program would, and index them."""
        for path, text in notes.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else text.encode())
        await self.look()

    async def look(self) -> None:
        await reconciliation.reconcile_all(self.vault, expected=10_000)

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def digests(self) -> dict[str, str]:
        """Every file below the folder by its bytes."""
        files = (each for each in self.root.rglob("*") if each.is_file())
        return {each.relative_to(self.root).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}

    async def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that has to succeed."""
        outcome: CallOutcome = await self.ask(tool, **arguments)
        assert outcome.ok, outcome.text
        return outcome.content


@asynccontextmanager
async def desk_in(opening: Opening, flags: dict[str, Any] | None = None, *, alone: bool = True) -> AsyncIterator[Desk]:
    """A vault without a watcher or a model. Not ``alone``: another process has it open already."""
    quiet = {"notes.watch": "off", "embedding.engine": "off", **(flags or {})}
    async with opening(quiet) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert not alone or await vault.notes.wait_for_index(PATIENCE_S)
        yield Desk(services, vault, vault.notes.root, asker(services))

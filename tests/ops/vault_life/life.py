"""A data folder with vaults, and what is left of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from auth.grants import list_grants, set_grant
from auth.keys import open_key_ring
from auth.plan_holders import PlanHolder, list_plan_assignments, set_plan
from auth.roles import Role
from auth.tokens import TokenRequest, create_token, list_tokens
from ops.vault_life import folder_moves
from ops.vault_life.folder_moves import FolderMove
from server import vault_admin
from tests.blanks import lay_out
from vaults import registry
from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings


class Killed(BaseException):
    """Stands for the end of the process."""


@asynccontextmanager
async def control_of(data: Path, *vaults: str) -> AsyncIterator[Database]:
    """control.db of a data folder that has these vaults."""
    lay_out(data, vaults)
    control = Database(data / "control.db", StorageSettings())
    try:
        for name in vaults:
            await vault_admin.register(control, data, StorageSettings(), name)
        yield control
    finally:
        await control.close()


async def give(control: Database, data: Path, subject: str, *vaults: str) -> str:
    """A token for these vaults, and the first of them on a plan; its id."""
    ring = await asyncio.to_thread(open_key_ring, data / "keys")
    request = TokenRequest(subject, vaults, Role.WRITER, 3600)
    issued = await control.write(lambda tx: create_token(tx, ring, "i", request))
    await control.write(lambda tx: set_plan(tx, PlanHolder("vault", vaults[0]), "free"))
    await control.write(lambda tx: set_grant(tx, "team", "https://id.example", vaults[0], Role.READER))
    return issued.id


def names_in(tx: Reader) -> dict[str, list[str]]:
    """Where which vault is named."""
    return {
        "registry": [each.name for each in registry.list_vaults(tx)],
        "grants": sorted({each.vault for each in list_grants(tx)}),
        "plans": [each.holder.name for each in list_plan_assignments(tx)],
        "tokens": sorted({name for each in list_tokens(tx) for name in each.vaults}),
    }


async def entry_of(control: Database, name: str) -> VaultEntry:
    return await control.read(lambda tx: registry.get(tx, name))


async def moves_of(control: Database) -> list[FolderMove]:
    return await control.read(folder_moves.list_moves)

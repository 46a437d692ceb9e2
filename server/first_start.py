"""What the first start on an empty data folder makes: vault ``main``, and a token for its owner."""

from __future__ import annotations

import asyncio
from pathlib import Path

from auth.access import EVERY_VAULT
from auth.keys import FOLDER, KeyRing, open_keys
from auth.roles import Role
from auth.tokens import TTL_LIMIT_S, IssuedToken, TokenRequest, create_token
from server import vault_admin
from server.settings import Loaded
from vaults import registry
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.errors import AlreadyExists

FIRST = "main"
OWNER = "owner"
KEYS = FOLDER


async def first_start(control: Database, loaded: Loaded) -> IssuedToken | None:
    """Make vault and token if no vault was ever registered; the token is returned this once. Both or neither are
    there afterwards, also when two servers start at once. None: not the first start, or no tokens are in use."""
    if await control.read(registry.listed):
        return None
    ring = None if loaded.settings.auth.mode == "none" else await asyncio.to_thread(open_keys, loaded.data / KEYS)
    instance = await registry.instance_id(control)
    made: list[IssuedToken] = []

    def issue(tx: Writer) -> None:
        made.clear()
        if ring is not None:
            made.append(_owner_token(tx, ring, instance))

    try:
        await vault_admin.register(control, loaded.data, loaded.settings.storage, FIRST, also=issue)
    except AlreadyExists:
        return None
    return made[0] if made else None


def _owner_token(tx: Writer, ring: KeyRing, instance: str) -> IssuedToken:
    return create_token(tx, ring, instance, TokenRequest(OWNER, (EVERY_VAULT,), Role.ADMIN, TTL_LIMIT_S))


async def ensure_vault(control: Database, loaded: Loaded, name: str, path: Path | None = None) -> None:
    """Make a vault unless it is there. Raises ``InvalidArgument``."""
    if any(entry.name == name and entry.state == "active" for entry in await control.read(registry.listed)):
        return
    try:
        await vault_admin.register(control, loaded.data, loaded.settings.storage, name, path)
    except AlreadyExists:
        return

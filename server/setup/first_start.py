"""What the first start on an empty data folder makes: vault ``main``, and a token for its admin."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auth.keys import KEYS_FOLDER, KeyRing, open_key_ring
from auth.roles import Role
from server import vault_admin
from server.settings import LoadedSettings
from vaults import registry
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.durations import parse_duration
from vaults.errors import AlreadyExists

if TYPE_CHECKING:
    from auth.tokens import IssuedToken

FIRST_VAULT = "main"
OWNER_SUBJECT = "owner"


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What was made besides the vault. ``token`` None: the settings want none, or use none."""

    token: IssuedToken | None


async def first_start(control: Transactions, loaded: LoadedSettings) -> FirstStart | None:
    """Make vault and token if no vault was ever registered; only this call returns the token. Both exist afterwards or
    neither, even if two servers start at once. None: not the first start."""
    if await control.read(registry.list_vaults):
        return None
    auth = loaded.settings.auth
    wanted = auth.mode != "none" and auth.first_token_ttl != "none"  # noqa: S105  a duration
    ring = (
        await asyncio.to_thread(open_key_ring, loaded.data / KEYS_FOLDER, auth.key_passphrase_file) if wanted else None
    )
    instance = await registry.instance_id(control)
    tokens: list[IssuedToken] = []

    def issue(tx: Writer) -> None:
        tokens.clear()
        if ring is not None:
            tokens.append(_first_token(tx, ring, instance, parse_duration(auth.first_token_ttl)))

    try:
        await vault_admin.register(control, loaded.data, loaded.settings.storage, FIRST_VAULT, also=issue)
    except AlreadyExists:
        return None
    return FirstStart(tokens[0] if tokens else None)


def _first_token(tx: Writer, ring: KeyRing, instance: str, ttl_s: int) -> IssuedToken:
    """A token for this one vault and a limited time: it ends up in any log that keeps what the server prints."""
    from auth.tokens import TokenRequest, create_token  # takes x509 along: every later start does without

    return create_token(tx, ring, instance, TokenRequest(OWNER_SUBJECT, (FIRST_VAULT,), Role.ADMIN, ttl_s))


async def ensure_vault(control: Transactions, loaded: LoadedSettings, name: str, path: Path | None = None) -> None:
    """Make a vault unless it exists. Raises ``InvalidArgument``."""
    if any(entry.name == name and entry.state == "active" for entry in await control.read(registry.list_vaults)):
        return
    try:
        await vault_admin.register(control, loaded.data, loaded.settings.storage, name, path)
    except AlreadyExists:
        return

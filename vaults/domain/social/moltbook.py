"""What all calls share: where Moltbook is, the key that seals API keys, the clock; and a request with a vault's key."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.social.api_answer import ApiRequest
from vaults.domain.social.endpoint import MoltbookEndpoint
from vaults.domain.social.network_items import withhold
from vaults.domain.social.token_cipher import TokenCipher
from vaults.errors import NotFound
from vaults.vault import Vault

NETWORK = "moltbook"

UNKNOWN = "Not authenticated: register or log in first"


@dataclass(frozen=True, slots=True)
class Moltbook:
    """Everything a call needs besides the vault. ``now``: wall time, as stored."""

    endpoint: MoltbookEndpoint
    cipher: TokenCipher
    now: Callable[[], str] = clock.now


async def ask(vault: Vault, moltbook: Moltbook, request: ApiRequest) -> Any:
    """The body of the answer to a request with the vault's API key, which is nowhere in it. Raises ``NotFound`` for a
    vault without one, and what ``MoltbookEndpoint.send`` and ``ApiAnswer.require_ok`` raise."""
    api_key = await read_key(vault, moltbook)
    answer = withhold(await moltbook.endpoint.send(vault.entry.vault_id, request, api_key), api_key)
    return answer.require_ok()


async def read_key(vault: Vault, moltbook: Moltbook) -> str:
    """The vault's API key. Raises ``NotFound`` where there is none, or none that can be opened."""
    sql = "SELECT api_key FROM social_accounts WHERE network = :network"
    sealed = await vault.db.read(lambda tx: tx.value(sql, {"network": NETWORK}))
    if sealed is None:
        raise NotFound(UNKNOWN)
    return await moltbook.cipher.open(vault.entry.vault_id, NETWORK, bytes(sealed))


async def has_key(vault: Vault, moltbook: Moltbook) -> str | None:
    """The vault's API key, if there is one that can be opened."""
    with contextlib.suppress(NotFound):
        return await read_key(vault, moltbook)
    return None


async def store_key(vault: Vault, moltbook: Moltbook, actor: Actor, api_key: str) -> None:
    """Keep it, sealed, in place of the one before."""
    sealed = await moltbook.cipher.seal(vault.entry.vault_id, NETWORK, api_key)
    values = {"network": NETWORK, "api_key": sealed, "by": actor.identity, "at": moltbook.now()}

    def write(tx: Writer) -> None:
        tx.run(
            "INSERT INTO social_accounts (network, api_key, stored_by, stored_at) VALUES (:network, :api_key, :by, :at)"
            " ON CONFLICT (network) DO UPDATE SET api_key = :api_key, stored_by = :by, stored_at = :at",
            values,
        )
        tx.note_change("social account", NETWORK, None, "stored")

    await vault.db.write(write)

"""API keys, sealed: what lies in a database, its backups and copies is of no use without the data folder's key."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vaults.errors import NotFound, ReadOnly

_NONCE = 12


class TokenCipher:
    """Seals and opens with the key that ``load_key`` gives, which blocks and is asked on first use: few servers ever
    need it, and some may not write."""

    def __init__(self, load_key: Callable[[], bytes]) -> None:
        self._load_key = load_key
        self._cipher: AESGCM | None = None

    async def prepare(self) -> None:
        """Have the key at hand. Raises ``ReadOnly`` where it cannot be made."""
        if self._cipher is None:
            try:
                self._cipher = AESGCM(await asyncio.to_thread(self._load_key))
            except OSError:
                raise ReadOnly("the key that seals API keys can be neither read nor made in the data folder") from None

    async def seal(self, vault_id: str, network: str, token: str) -> bytes:
        """The token, to be opened for this vault and network only: a row copied to another vault is of no use there."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + (await self._ready()).encrypt(nonce, token.encode(), _bound(vault_id, network))

    async def open(self, vault_id: str, network: str, sealed: bytes) -> str:
        """The token. Raises ``NotFound`` for one that was sealed with another key, or for another vault."""
        try:
            return (await self._ready()).decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound(vault_id, network)).decode()
        except (InvalidTag, ValueError):
            raise NotFound("the stored API key cannot be opened with the key of this server: log in again") from None

    async def _ready(self) -> AESGCM:
        await self.prepare()
        assert self._cipher is not None
        return self._cipher


def _bound(vault_id: str, network: str) -> bytes:
    return f"{network} {vault_id}".encode()

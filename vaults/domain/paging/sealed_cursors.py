"""Encrypted cursors for callers, because the numbers in them reveal how much everybody in the vault stores."""

from __future__ import annotations

import base64
import binascii
from weakref import WeakKeyDictionary

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from vaults.errors import InvalidArgument
from vaults.vault import Vault

_KEYS: WeakKeyDictionary[Vault, bytes] = WeakKeyDictionary()
"""Keys of open vaults. A key never changes."""

MAX_LENGTH = 30_000
"""Max characters of a cursor that are read."""


async def seal(vault: Vault, cursor: str) -> str:
    """A cursor that only this vault can read. Deterministic."""
    return _to_base64(AESSIV(await _read_key(vault)).encrypt(_from_base64(cursor), None))


async def unseal(vault: Vault, cursor: str) -> str:
    """The cursor inside a sealed one. Raises ``InvalidArgument`` for what this vault did not seal."""
    try:
        return _to_base64(AESSIV(await _read_key(vault)).decrypt(_from_base64(cursor[:MAX_LENGTH]), None))
    except (InvalidTag, ValueError, binascii.Error):
        raise InvalidArgument("cursor", "is not one this vault gave", hint="start again without a cursor") from None


async def _read_key(vault: Vault) -> bytes:
    if vault not in _KEYS:
        read = "SELECT value FROM vault_info WHERE key = 'cursor_key'"
        _KEYS[vault] = bytes.fromhex(await vault.db.read(lambda tx: tx.value(read)))
    return _KEYS[vault]


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

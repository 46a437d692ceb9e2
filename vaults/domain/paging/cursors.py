"""Cursors of listings: the last row of a page, by the value it was ordered by and its ``seq``.

Where that number counts what everybody in the vault stores, callers get the cursor encrypted: it would reveal how much
that is.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from vaults.domain.text.fields import clean
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from vaults.vault import Vault

MAX_LENGTH = 30_000
"""Max characters of an encrypted cursor that are read."""

_KEYS: WeakKeyDictionary[Vault, bytes] = WeakKeyDictionary()
"""Keys of open vaults. A key never changes."""

_START_AGAIN = "start again without a cursor"


def encode(listing: str, value: Any, number: int) -> str:
    """The cursor for what follows a row. ``listing`` names the listing it belongs to."""
    return to_text(json.dumps([listing, value, number], ensure_ascii=False).encode())


def decode(cursor: str, listing: str) -> tuple[Any, int]:
    """Value and ``seq`` of the last row. Raises ``InvalidArgument`` for a cursor of another listing, or no cursor at
    all."""
    try:
        named, value, number = json.loads(from_text(cursor))
        if named == listing and type(number) is int and abs(number) < 2**63 and _is_sortable(value):
            return value, number
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidArgument("cursor", "is not one this listing gave", hint=_START_AGAIN)


def _is_sortable(value: object) -> bool:
    if isinstance(value, str):
        return clean(value) == value
    return type(value) is int and abs(value) < 2**63


async def seal(vault: Vault, cursor: str) -> str:
    """A cursor that only this vault can read. Deterministic."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return to_text(AESSIV(await _read_key(vault)).encrypt(from_text(cursor), None))


async def unseal(vault: Vault, cursor: str) -> str:
    """The cursor inside a sealed one. Raises ``InvalidArgument`` for what this vault did not seal."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    try:
        return to_text(AESSIV(await _read_key(vault)).decrypt(from_text(cursor[:MAX_LENGTH]), None))
    except (InvalidTag, ValueError):
        raise InvalidArgument("cursor", "is not one this vault gave", hint=_START_AGAIN) from None


async def _read_key(vault: Vault) -> bytes:
    if vault not in _KEYS:
        read = "SELECT value FROM vault_info WHERE key = 'cursor_key'"
        _KEYS[vault] = bytes.fromhex(await vault.db.read(lambda tx: tx.value(read)))
    return _KEYS[vault]


def to_text(data: bytes) -> str:
    """The text that stands for ``data`` in a cursor."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_text(cursor: str) -> bytes:
    """The bytes a cursor stands for. Raises ``ValueError``."""
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))

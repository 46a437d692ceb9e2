"""Bytes as they lie in a store: compressed, and for an operator who set recipients encrypted (age)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from vaults.errors import InvalidArgument, VaultUnavailable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3


def close(data: bytes, recipients: Sequence[str]) -> bytes:
    """What is stored of ``data``. Raises ``InvalidArgument`` for recipients that are none."""
    packed = zstd.compress(data, LEVEL)
    return _encrypt(packed, recipients) if recipients else packed


def disclose(stored: bytes, limit: int, identities: Sequence[str] | None) -> bytes:
    """The bytes that were stored, ``limit`` at most. ``identities``: age secret keys; None: it is not encrypted. Raises
    ``InvalidArgument`` for what is damaged, or closed to these keys."""
    packed = stored if identities is None else _decrypt(stored, identities)
    unpacking = zstd.ZstdDecompressor()
    try:
        data = unpacking.decompress(packed, max_length=limit + 1)
    except zstd.ZstdError:
        raise damaged("holds a part that cannot be unpacked") from None
    if len(data) > limit or not unpacking.eof or unpacking.unused_data:
        raise damaged("holds a part of another size than it says")
    return data


def damaged(reason: str) -> InvalidArgument:
    """The error for a backup that is not what was written."""
    return InvalidArgument("archive", reason, hint="take another backup: strongroom backup list shows them")


def _encrypt(data: bytes, recipients: Sequence[str]) -> bytes:
    age = _age()
    try:
        keys = [age.x25519.Recipient.from_str(each) for each in recipients]
    except age.RecipientError:
        raise InvalidArgument("backup.recipients", "holds one that is no public key of age (age1…)") from None
    return bytes(age.encrypt(data, keys))


def _decrypt(data: bytes, identities: Sequence[str]) -> bytes:
    if not identities:
        raise InvalidArgument("archive", "is encrypted: the secret key is needed", hint="give its file by --identity")
    age = _age()
    try:
        keys = [age.x25519.Identity.from_str(each) for each in identities]
    except age.IdentityError:
        raise InvalidArgument("identity", "is no secret key of age (AGE-SECRET-KEY-1…)") from None
    try:
        return bytes(age.decrypt(data, keys))
    except age.DecryptError:
        raise damaged("is encrypted for somebody else, or damaged") from None


def _age() -> Any:
    try:
        import pyrage
    except ImportError:
        raise VaultUnavailable(
            "encrypted backups need a library that is not installed", hint="pip install 'strongroom[backup]'"
        ) from None
    return pyrage

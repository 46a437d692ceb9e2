"""Bytes as they lie in a store: compressed, and for an operator who set recipients encrypted (age)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ops.backup.encryption import check_identities, check_recipients
from vaults.errors import InvalidArgument

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
    keys = check_recipients(recipients)
    import pyrage  # there, or the check would have said so

    return bytes(pyrage.encrypt(data, keys))


def _decrypt(data: bytes, identities: Sequence[str]) -> bytes:
    keys = check_identities(identities)
    import pyrage

    try:
        return bytes(pyrage.decrypt(data, keys))
    except pyrage.DecryptError:
        raise damaged("is encrypted for somebody else, or damaged") from None

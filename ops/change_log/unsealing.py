"""Opening parts of a log: one log may hold some that are encrypted and some that are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ops.backup.sealing import disclose
from vaults.errors import InvalidArgument

MAX_PART = 256 * 2**20
"""Bytes of one part once it is open."""

_ENCRYPTED = b"age-encryption.org/"


def make_unseal(identities: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """What opens a part, with these secret keys where it is encrypted."""
    return partial(_unseal, identities)


def _unseal(identities: tuple[str, ...], data: bytes) -> bytes:
    if not data.startswith(_ENCRYPTED):
        return data
    if not identities:
        raise InvalidArgument("--identity-file", "is needed: the change log is encrypted for recipients")
    return disclose(data, MAX_PART, identities)

"""The form in which what lies among the keys is kept: PKCS #8, encrypted where a passphrase is set.

A secret that is no signing key is kept in the same form once it is encrypted: its 32 bytes stand for a private key. So
one passphrase, one way to change it and one tool, openssl, do for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auth.key_passphrase import PASSPHRASE_SETTING
from vaults.errors import InvalidArgument, VaultUnavailable

_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
_PEM = b"-----BEGIN "


def is_encrypted(data: bytes) -> bool:
    """Whether these bytes of a file are an encrypted key."""
    return data.startswith(_ENCRYPTED)


def is_pem(data: bytes) -> bool:
    """Whether these bytes of a file are a key, encrypted or not, rather than a secret as it is."""
    return data.startswith(_PEM)


def to_pem(private: Ed25519PrivateKey, passphrase: bytes | None) -> bytes:
    """A key as it is kept."""
    algorithm = (
        serialization.BestAvailableEncryption(passphrase) if passphrase is not None else serialization.NoEncryption()
    )
    return private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, algorithm)


def from_pem(name: str, data: bytes, passphrases: Sequence[bytes]) -> tuple[Ed25519PrivateKey, bytes | None]:
    """The key in these bytes, and which of the passphrases opened it; None: it was not encrypted. Raises
    ``InvalidArgument`` where none does, ``VaultUnavailable`` for what is no such key."""
    if not is_encrypted(data):
        return _load(name, data, None), None
    if not passphrases:
        raise InvalidArgument(PASSPHRASE_SETTING, f"is needed: the key {name} is encrypted")
    for passphrase in passphrases:
        try:
            return _load(name, data, passphrase), passphrase
        except _NotOpened:
            continue
    raise InvalidArgument(PASSPHRASE_SETTING, f"does not open the key {name}")


class _NotOpened(Exception):
    """The passphrase is another one."""


def _load(name: str, data: bytes, passphrase: bytes | None) -> Ed25519PrivateKey:
    try:
        private = serialization.load_pem_private_key(data, password=passphrase)
    except (ValueError, TypeError, UnsupportedAlgorithm) as failure:
        if passphrase is not None:
            raise _NotOpened from failure
        raise VaultUnavailable(f"the key {name} cannot be read", hint="restore or remove it") from failure
    if not isinstance(private, Ed25519PrivateKey):
        raise VaultUnavailable(f"the key {name} is not an Ed25519 key", hint="remove it")
    return private

"""The installation's signature on a manifest, and through its hashes on every byte of a backup."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from auth.keys import KeyRing, SigningKey, public_keys
from vaults.errors import InvalidArgument

MAX_BYTES = 4096
_PURPOSE = b"strongroom backup manifest\n"
"""Before what is signed: the same key signs tokens, and one must never pass for the other."""


def sign_manifest(manifest: bytes, key: SigningKey) -> bytes:
    """The stored signature of a stored manifest."""
    signature = base64.urlsafe_b64encode(key.private.sign(_PURPOSE + manifest)).decode()
    return json.dumps({"kid": key.kid, "alg": "EdDSA", "signature": signature}).encode()


def check_signature(manifest: bytes, stored: bytes, trusted: Mapping[str, Ed25519PublicKey]) -> str | None:
    """The id of the trusted key that signed; None where it is no trusted one, which proves nothing. Raises
    ``InvalidArgument`` for a signature that is wrong."""
    try:
        found: Any = json.loads(stored)
        kid, signature = str(found["kid"]), base64.urlsafe_b64decode(str(found["signature"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidArgument("archive", "has a signature that is none") from None
    key = trusted.get(kid)
    if key is None:
        return None
    try:
        key.verify(signature, _PURPOSE + manifest)
    except InvalidSignature:
        raise InvalidArgument("archive", "was changed since it was signed") from None
    return kid


def trusted_keys(ring: KeyRing) -> dict[str, Ed25519PublicKey]:
    """The keys that sign here and those that signed before them: a backup outlives the key that signed it. Blocking."""
    return {**public_keys(ring.folder), **{key.kid: key.public for key in ring.keys}}

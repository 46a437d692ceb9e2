"""Signatures of manifests."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from auth.keys import SigningKey


def sign_manifest(data: bytes, key: SigningKey) -> bytes:
    """The signature."""
    raise NotImplementedError


def check_signature(data: bytes, signature: bytes, trusted: Mapping[str, Ed25519PublicKey]) -> str:
    """The kid."""
    raise NotImplementedError

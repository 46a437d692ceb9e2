"""The keys that sign tokens issued here, Ed25519, one PEM file each, in a folder only this user may enter; and other
secrets in such a folder.

Files are numbered and never rewritten: the highest number signs, all of them verify. A key file is created whole or
not at all and never replaces another (written to a temporary file, then hard-linked under its name), so of two
processes that start at once on an empty folder one makes the key and the other finds it.

A key file others may read is made private again rather than refused: whatever was copied is copied either way, a
server that will not start helps nobody, and a restored backup often has such modes. ``KeyRing.repaired`` names
those files for the log; if the mode cannot be changed, the load fails.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from vaults.errors import VaultUnavailable

KEYS_FOLDER = "keys"
"""Folder of the keys, in the data folder."""

_SECRET = 32
_NAME = re.compile(r"[0-9]{4}\.pem", re.ASCII)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """``kid`` is the RFC 7638 thumbprint of the public key, so it cannot disagree with it."""

    kid: str
    private: Ed25519PrivateKey
    public: Ed25519PublicKey

    @property
    def jwk(self) -> dict[str, str]:
        """The public half as a JWK."""
        return {**_public_members(self.public), "kid": self.kid, "use": "sig", "alg": "EdDSA"}


class KeyRing:
    """The keys of one installation. ``refresh`` follows changes of the folder; look-ups never touch the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._keys: dict[str, SigningKey] = {}
        self._newest: SigningKey | None = None
        self.repaired: tuple[str, ...] = ()

    @property
    def newest(self) -> SigningKey:
        """The key that signs."""
        if self._newest is None:
            raise VaultUnavailable("there is no signing key")
        return self._newest

    def find(self, kid: str) -> SigningKey | None:
        """The key with this id. ``kid`` comes from strangers: it is compared, never used as a path."""
        return self._keys.get(kid)

    @property
    def all(self) -> tuple[SigningKey, ...]:
        """All of them, oldest first."""
        return tuple(self._keys.values())

    def jwks(self) -> dict[str, Any]:
        """The JWKS document of the public halves, newest first."""
        return {"keys": [key.jwk for key in reversed(self._keys.values())]}

    def refresh(self) -> None:
        """Take up keys added or removed by another process. Blocking; a few system calls when nothing changed."""
        names = _names(self._folder)
        states = [(name, (self._folder / name).stat()) for name in names]
        seen = tuple((name, state.st_mtime_ns, state.st_size) for name, state in states)
        if seen == self._seen:
            return
        self.repaired = tuple(name for name, state in states if _open_private(self._folder / name, state.st_mode))
        keys = [_read(self._folder / name) for name in names]
        self._keys = {key.kid: key for key in keys}
        self._newest = keys[-1] if keys else None
        self._seen = seen


def open_key_ring(folder: Path) -> KeyRing:
    """The key ring of ``folder``, with a first key made when it has none. Blocking."""
    _make_private(folder)
    ring = KeyRing(folder)
    if not _names(folder):
        with contextlib.suppress(FileExistsError):
            _create_first(folder)
    ring.refresh()
    return ring


def open_secret(folder: Path, name: str) -> bytes:
    """32 random bytes kept as ``folder/name``, made on first use; the same for all processes. Blocking."""
    _make_private(folder)
    path = folder / name
    if not path.exists():
        with contextlib.suppress(FileExistsError):
            _publish(folder, name, secrets.token_bytes(_SECRET))
    _open_private(path, path.stat().st_mode)
    secret = path.read_bytes()
    if len(secret) != _SECRET:
        raise VaultUnavailable(f"the key {name} cannot be read", hint="restore or remove it")
    return secret


def _names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))  # noqa: PTH208  names, not paths


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def _create_first(folder: Path) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _publish(folder, "0001.pem", pem)


def _publish(folder: Path, name: str, data: bytes) -> None:
    aside = folder / f".new-{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        (folder / name).hardlink_to(aside)
    finally:
        aside.unlink(missing_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_private(path: Path, mode: int) -> bool:
    if not mode & 0o077:
        return False
    path.chmod(0o600)
    return True


def _read(path: Path) -> SigningKey:
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as failure:
        raise VaultUnavailable(f"the signing key {path.name} cannot be read", hint="restore or remove it") from failure
    if not isinstance(private, Ed25519PrivateKey):
        raise VaultUnavailable(f"the signing key {path.name} is not an Ed25519 key", hint="remove it")
    public = private.public_key()
    return SigningKey(_thumbprint(public), private, public)


def _public_members(public: Ed25519PublicKey) -> dict[str, str]:
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(raw)}


def _thumbprint(public: Ed25519PublicKey) -> str:
    # RFC 7638: SHA-256 over the required members, sorted, without blanks.
    canonical = json.dumps(_public_members(public), separators=(",", ":"), sort_keys=True)
    return _base64url(hashlib.sha256(canonical.encode()).digest())


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")

"""The keys that sign tokens issued here, Ed25519, one PEM file each, in a folder only this user may enter; and other
secrets in such a folder.

Files are numbered: the highest number signs, all of them verify. A key file is created whole or not at all and never
replaces another (written to a temporary file, then hard-linked under its name), so of two processes that start at once
on an empty folder one makes the key and the other finds it. Where a passphrase is set, keys lie encrypted, and one that
does not yet is encrypted when it is read. Of a key that is no longer needed the public half stays (``NNNN.pub``): what
it signed besides tokens can still be checked.

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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from auth.key_passphrase import PASSPHRASE_SETTING, read_passphrase
from vaults.errors import Conflict, InvalidArgument, VaultUnavailable
from vaults.files.atomic import sync_folder

KEYS_FOLDER = "keys"
"""Folder of the keys, in the data folder."""

LONGEST_WRITE_S = 60.0
"""Seconds after which a file of a key that is being made is a leftover."""

_ASIDE = ".new-"
_SECRET = 32
_NAME = re.compile(r"[0-9]{4}\.pem", re.ASCII)
_PUBLIC_NAME = re.compile(r"[0-9]{4}\.pub", re.ASCII)
_KID = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """``kid`` is the RFC 7638 thumbprint of the public key, so it cannot disagree with it; ``name``: of its file."""

    kid: str
    private: Ed25519PrivateKey
    public: Ed25519PublicKey
    name: str = ""

    @property
    def jwk(self) -> dict[str, str]:
        """The public half as a JWK."""
        return {**_public_members(self.public), "kid": self.kid, "use": "sig", "alg": "EdDSA"}


class KeyRing:
    """The keys of one installation. ``refresh`` follows changes of the folder; look-ups never touch the disk."""

    def __init__(self, folder: Path, passphrase_file: str | None = None) -> None:
        self.folder = folder
        self.passphrase_file = passphrase_file
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

    @property
    def keys(self) -> tuple[SigningKey, ...]:
        """Every key, oldest first."""
        return tuple(self._keys.values())

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
        names = _names(self.folder)
        states = [(name, (self.folder / name).stat()) for name in names]
        seen = tuple((name, state.st_mtime_ns, state.st_size) for name, state in states)
        if seen != self._seen:
            self._load(states)
            self._seen = seen

    def reload(self) -> None:
        """Read every key again with the passphrase as it is now. Blocking. Raises what opening raises; the keys that
        were read before hold then."""
        self._load([(name, (self.folder / name).stat()) for name in _names(self.folder)])

    def _load(self, states: Sequence[tuple[str, os.stat_result]]) -> None:
        self.repaired = tuple(name for name, state in states if _open_private(self.folder / name, state.st_mode))
        passphrase = read_passphrase(self.passphrase_file)
        keys = [_read(self.folder / name, passphrase) for name, _ in states]
        self._keys = {key.kid: key for key in keys}
        self._newest = keys[-1] if keys else None


def open_key_ring(folder: Path, passphrase_file: str | None = None) -> KeyRing:
    """The key ring of ``folder``, with a first key made when it has none. Blocking. Raises ``InvalidArgument`` for a
    passphrase that is missing or wrong."""
    _make_private(folder)
    _sweep(folder)
    ring = KeyRing(folder, passphrase_file)
    if not _names(folder):
        with contextlib.suppress(FileExistsError):
            _create(folder, 1, read_passphrase(passphrase_file))
    ring.refresh()
    return ring


def add_key(ring: KeyRing) -> SigningKey:
    """Make a key that signs from now on; other processes follow. Blocking. Raises ``Conflict`` if another one was made
    at the same time."""
    taken = [int(name[:4]) for name in os.listdir(ring.folder) if _NAME.fullmatch(name) or _PUBLIC_NAME.fullmatch(name)]  # noqa: PTH208
    try:
        _create(ring.folder, max(taken, default=0) + 1, read_passphrase(ring.passphrase_file))
    except FileExistsError:
        raise Conflict("another key was made at the same time", hint="key list shows it") from None
    ring.refresh()
    return ring.newest


def remove_key(ring: KeyRing, key: SigningKey) -> None:
    """Overwrite and remove the private half of a key; the public one stays. Blocking. Not for the one that signs."""
    path = ring.folder / key.name
    with contextlib.suppress(FileExistsError):
        public = key.public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        _publish(ring.folder, path.with_suffix(".pub").name, public)
    with contextlib.suppress(FileNotFoundError):  # another process was faster
        _overwrite(os.open(path, os.O_WRONLY))
        path.unlink()
    ring.refresh()


def public_keys(folder: Path) -> Mapping[str, Ed25519PublicKey]:
    """The public half of every key there was that can be had without a passphrase, by kid: of those that no longer sign
    or verify tokens. Those in use are in ``KeyRing.keys``. Blocking."""
    found = {}
    for name in sorted(name for name in os.listdir(folder) if _PUBLIC_NAME.fullmatch(name)):  # noqa: PTH208  names
        public = serialization.load_pem_public_key((folder / name).read_bytes())
        if isinstance(public, Ed25519PublicKey):
            found[_thumbprint(public)] = public
    return found


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


def _sweep(folder: Path) -> None:
    """Remove what a process that was killed while it made a key has left: the key may lie in it in the clear."""
    for aside in folder.glob(f"{_ASIDE}*"):
        with contextlib.suppress(OSError):  # the folder cannot be written, or another process does the same
            found = aside.stat()
            if found.st_mtime < time.time() - LONGEST_WRITE_S:
                if found.st_nlink == 1:  # else it is a key in use by another name
                    _overwrite(os.open(aside, os.O_WRONLY))
                aside.unlink()


def _create(folder: Path, number: int, passphrase: bytes | None) -> None:
    _publish(folder, f"{number:04}.pem", _to_pem(Ed25519PrivateKey.generate(), passphrase))


def _to_pem(private: Ed25519PrivateKey, passphrase: bytes | None) -> bytes:
    algorithm = (
        serialization.BestAvailableEncryption(passphrase) if passphrase is not None else serialization.NoEncryption()
    )
    return private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, algorithm)


def _publish(folder: Path, name: str, data: bytes) -> None:
    aside = folder / f"{_ASIDE}{secrets.token_hex(8)}"
    try:
        _write_aside(aside, data)
        (folder / name).hardlink_to(aside)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(folder)


def _replace(path: Path, data: bytes) -> None:
    """Put ``data`` in place of a file's content, of which nothing stays on the disk."""
    aside = path.with_name(f"{_ASIDE}{secrets.token_hex(8)}")
    try:
        _write_aside(aside, data)
        before = os.open(path, os.O_WRONLY)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(path.parent)
    _overwrite(before)


def _write_aside(aside: Path, data: bytes) -> None:
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _overwrite(descriptor: int) -> None:
    """Write over a whole small file, and close it."""
    try:
        os.write(descriptor, bytes(os.fstat(descriptor).st_size))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_private(path: Path, mode: int) -> bool:
    if not mode & 0o077:
        return False
    path.chmod(0o600)
    return True


def _read(path: Path, passphrase: bytes | None) -> SigningKey:
    data = path.read_bytes()
    encrypted = data.startswith(_ENCRYPTED)
    if encrypted and passphrase is None:
        raise InvalidArgument(PASSPHRASE_SETTING, f"is needed: the signing key {path.name} is encrypted")
    try:
        private = serialization.load_pem_private_key(data, password=passphrase if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as failure:
        if encrypted:
            raise InvalidArgument(PASSPHRASE_SETTING, f"does not open the signing key {path.name}") from failure
        raise VaultUnavailable(f"the signing key {path.name} cannot be read", hint="restore or remove it") from failure
    if not isinstance(private, Ed25519PrivateKey):
        raise VaultUnavailable(f"the signing key {path.name} is not an Ed25519 key", hint="remove it")
    if passphrase is not None and not encrypted and os.access(path.parent, os.W_OK):
        _replace(path, _to_pem(private, passphrase))
    public = private.public_key()
    return SigningKey(_thumbprint(public), private, public, path.name)


def is_kid(text: str) -> bool:
    """Whether a stranger's text has the form of a key id of ours, and so may stand in a log."""
    return _KID.fullmatch(text) is not None


def _public_members(public: Ed25519PublicKey) -> dict[str, str]:
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(raw)}


def _thumbprint(public: Ed25519PublicKey) -> str:
    # RFC 7638: SHA-256 over the required members, sorted, without blanks.
    canonical = json.dumps(_public_members(public), separators=(",", ":"), sort_keys=True)
    return _base64url(hashlib.sha256(canonical.encode()).digest())


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")

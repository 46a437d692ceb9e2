"""The keys that sign tokens issued here, Ed25519, one PEM file each, in a folder only this user may enter.

Files are numbered: the highest number signs, all of them verify. Of two processes that start at once on an empty folder
one makes the key and the other finds it. Where a passphrase is set, keys lie encrypted, and one that does not yet is
encrypted when it is read. Of a key that is no longer needed the public half stays (``NNNN.pub``): what it signed
besides tokens can still be checked.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from auth import private_files
from auth.encrypted_keys import from_pem, is_encrypted, to_pem
from auth.key_passphrase import read_passphrase
from vaults.errors import Conflict, StrongroomError, VaultUnavailable

KEYS_FOLDER = "keys"
"""Folder of the keys, in the data folder."""

_NAME = re.compile(r"[0-9]{4}\.pem", re.ASCII)
_PUBLIC_NAME = re.compile(r"[0-9]{4}\.pub", re.ASCII)
_KID = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_ATTEMPTS = 3

_FileStates: TypeAlias = dict[str, tuple[int, int, int]]
"""What a key file looks like: by its name, its inode, time of change and size."""


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
        self._seen: _FileStates = {}
        self._by_file: dict[str, SigningKey] = {}
        self._keys: dict[str, SigningKey] = {}
        self._newest: SigningKey | None = None
        self.repaired: tuple[str, ...] = ()
        """Files whose mode was made private when they were last read."""
        self.unopened: tuple[str, ...] = ()
        """Files that did not open when they were last looked at."""

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

    def jwks(self) -> dict[str, Any]:
        """The JWKS document of the public halves, newest first."""
        return {"keys": [key.jwk for key in reversed(self._keys.values())]}

    def refresh(self) -> None:
        """Take up keys added or removed by another process; only what changed is read. A file that does not open, since
        its passphrase is being changed or cannot be had, counts for what it was before, and is tried again. Blocking; a
        few system calls when nothing changed."""
        states = _look_at(self.folder)
        if states == self._seen:
            return
        keys: dict[str, SigningKey] = {}
        unopened = []
        for name, state in states.items():
            known = self._by_file.get(name)
            if known is None or self._seen.get(name) != state:
                try:
                    known = self._open(name)
                except (StrongroomError, FileNotFoundError):
                    unopened.append(name)
            if known is not None:
                keys[name] = known
        self._take(keys, {name: state for name, state in states.items() if name not in unopened})
        self.unopened = tuple(unopened)

    def reload(self) -> None:
        """Read every key again with the passphrase as it is now. Blocking. Raises what opening raises; the keys that
        were read before hold then."""
        for attempt in range(_ATTEMPTS):
            states = _look_at(self.folder)
            self.repaired = tuple(name for name in states if private_files.make_private(self.folder / name))
            try:
                keys = {name: self._open(name) for name in states}
            except (StrongroomError, FileNotFoundError):
                if attempt + 1 == _ATTEMPTS or _look_at(self.folder) == states:
                    raise
                continue  # another process encrypts or removes one just now
            self._take(keys, states)
            self.unopened = ()
            return

    def _open(self, name: str) -> SigningKey:
        private_files.make_private(self.folder / name)
        return _read(self.folder / name, read_passphrase(self.passphrase_file))

    def _take(self, keys: dict[str, SigningKey], states: _FileStates) -> None:
        self._seen, self._by_file = states, keys
        self._keys = {key.kid: key for key in keys.values()}
        self._newest = next(reversed(keys.values()), None)


def open_key_ring(folder: Path, passphrase_file: str | None = None) -> KeyRing:
    """The key ring of ``folder``, with a first key made when it has none. Blocking. Raises ``InvalidArgument`` for a
    passphrase that is missing or wrong."""
    private_files.make_private_folder(folder)
    private_files.sweep(folder)
    ring = KeyRing(folder, passphrase_file)
    if not list_key_files(folder):
        with suppress(FileExistsError):
            _create(folder, 1, read_passphrase(passphrase_file))
    ring.reload()
    return ring


def add_key(ring: KeyRing) -> SigningKey:
    """Make a key that signs from now on; other processes follow. Blocking. Raises ``Conflict`` if another one was made
    at the same time."""
    taken = [int(name[:4]) for name in os.listdir(ring.folder) if _NAME.fullmatch(name) or _PUBLIC_NAME.fullmatch(name)]  # noqa: PTH208
    try:
        _create(ring.folder, max(taken, default=0) + 1, read_passphrase(ring.passphrase_file))
    except FileExistsError:
        raise Conflict("another key was made at the same time", hint="key list shows it") from None
    ring.reload()
    return ring.newest


def remove_key(ring: KeyRing, key: SigningKey) -> None:
    """Overwrite and remove the private half of a key; the public one stays. Blocking. Not for the one that signs."""
    path = ring.folder / key.name
    with suppress(FileExistsError):
        public = key.public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        private_files.publish(ring.folder, path.with_suffix(".pub").name, public)
    private_files.remove(path)
    ring.refresh()


def public_keys(folder: Path) -> Mapping[str, Ed25519PublicKey]:
    """The public half of every key there was that can be had without a passphrase, by kid: of those that no longer sign
    or verify tokens. Those in use are in ``KeyRing.keys``. Blocking."""
    found = {}
    for name in sorted(name for name in os.listdir(folder) if _PUBLIC_NAME.fullmatch(name)):  # noqa: PTH208  names
        try:
            public = serialization.load_pem_public_key((folder / name).read_bytes())
        except (ValueError, UnsupportedAlgorithm) as failure:
            raise VaultUnavailable(f"the key {name} cannot be read", hint="restore or remove it") from failure
        if isinstance(public, Ed25519PublicKey):
            found[_thumbprint(public)] = public
    return found


def check_key_files(folder: Path) -> None:
    """Raise ``VaultUnavailable`` for a key that is none. Encrypted ones are believed: whoever restores them need not
    have their passphrase at hand. Blocking; changes nothing."""
    for name in list_key_files(folder):
        data = (folder / name).read_bytes()
        if not is_encrypted(data):
            from_pem(name, data, ())


def are_encrypted(folder: Path) -> bool:
    """Whether a key in this folder needs a passphrase to be read. Blocking."""
    return any(is_encrypted((folder / name).read_bytes()) for name in list_key_files(folder))


def list_key_files(folder: Path) -> list[str]:
    """The names of the files of keys, oldest first."""
    return sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))  # noqa: PTH208  names, not paths


def _look_at(folder: Path) -> _FileStates:
    states: _FileStates = {}
    for name in list_key_files(folder):
        with suppress(FileNotFoundError):  # removed a moment ago
            found = (folder / name).stat()
            states[name] = found.st_ino, found.st_mtime_ns, found.st_size
    return states


def _create(folder: Path, number: int, passphrase: bytes | None) -> None:
    private_files.publish(folder, f"{number:04}.pem", to_pem(Ed25519PrivateKey.generate(), passphrase))


def _read(path: Path, passphrase: bytes | None) -> SigningKey:
    data = path.read_bytes()
    private, _ = from_pem(path.name, data, [] if passphrase is None else [passphrase])
    if passphrase is not None and not is_encrypted(data) and os.access(path.parent, os.W_OK):
        private_files.replace(path, to_pem(private, passphrase))
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

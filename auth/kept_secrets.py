"""Secrets that lie among the keys and sign nothing: what API keys, questions to a person and the names of backups are
sealed with. 32 random bytes each, made on first use, and encrypted as the keys are where a passphrase is set."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auth import private_files
from auth.encrypted_keys import from_pem, is_encrypted, is_pem, to_pem
from auth.key_passphrase import read_passphrase
from vaults.errors import VaultUnavailable

SUFFIX = ".key"
_LENGTH = 32


def open_secret(folder: Path, name: str, passphrase_file: str | None) -> bytes:
    """The secret kept as ``folder/name``, made on first use; the same for all processes. Blocking. Raises
    ``InvalidArgument`` for a passphrase that is missing or wrong, ``VaultUnavailable`` for a file that was harmed."""
    private_files.make_private_folder(folder)
    passphrase, path = read_passphrase(passphrase_file), folder / name
    if not path.exists():
        with suppress(FileExistsError):
            private_files.publish(folder, name, _as_kept(secrets.token_bytes(_LENGTH), passphrase))
    private_files.make_private(path)
    data = path.read_bytes()
    secret = read_secret(name, data, [] if passphrase is None else [passphrase])
    if passphrase is not None and not is_encrypted(data) and os.access(folder, os.W_OK):
        private_files.replace(path, _as_kept(secret, passphrase))
    return secret


def list_secrets(folder: Path) -> list[str]:
    """The names of those there are."""
    return sorted(path.name for path in folder.glob(f"*{SUFFIX}") if not path.name.startswith("."))


def open_secrets(folder: Path, passphrase_file: str | None) -> None:
    """Open every one there is: a wrong passphrase shows at the start, and not when somebody needs it. Blocking."""
    for name in list_secrets(folder):
        open_secret(folder, name, passphrase_file)


def read_secret(name: str, data: bytes, passphrases: Sequence[bytes]) -> bytes:
    """The secret in these bytes of a file."""
    secret = from_pem(name, data, passphrases)[0].private_bytes_raw() if is_pem(data) else data
    if len(secret) != _LENGTH:
        raise VaultUnavailable(f"the key {name} cannot be read", hint="restore or remove it")
    return secret


def rewrite_secret(path: Path, secret: bytes, passphrase: bytes | None) -> None:
    """Keep a secret as another passphrase wants it."""
    private_files.replace(path, _as_kept(secret, passphrase))


def _as_kept(secret: bytes, passphrase: bytes | None) -> bytes:
    return secret if passphrase is None else to_pem(Ed25519PrivateKey.from_private_bytes(secret), passphrase)

"""Another passphrase for everything that lies among the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from auth import private_files
from auth.encrypted_keys import from_pem, is_encrypted, to_pem
from auth.kept_secrets import list_secrets, read_secret, rewrite_secret
from auth.key_passphrase import read_passphrase
from auth.keys import list_key_files
from vaults.errors import InvalidArgument


def change_passphrase(folder: Path, old: bytes | None, new: bytes | None) -> list[str]:
    """Keep every key and secret as ``new`` wants it, None: in the clear; returns the names of those that were not.
    Everything is opened, with either of the two, before anything is written, and what is as it should be is left: so a
    call that was killed is made again. Blocking. Raises ``InvalidArgument`` for what neither opens."""
    rewrites = plan_change(folder, old, new)
    for _, rewrite in rewrites:
        rewrite()
    return [name for name, _ in rewrites]


def plan_change(folder: Path, old: bytes | None, new: bytes | None) -> list[tuple[str, Callable[[], None]]]:
    """What ``change_passphrase`` would write, by name. Blocking. Raises ``InvalidArgument`` for what neither opens."""
    known = [each for each in (new, old) if each is not None]
    rewrites: list[tuple[str, Callable[[], None]]] = []
    for name in list_key_files(folder):
        data = (folder / name).read_bytes()
        private, by = from_pem(name, data, known)
        if by != new:
            rewrites.append((name, partial(private_files.replace, folder / name, to_pem(private, new))))
    for name in list_secrets(folder):
        data = (folder / name).read_bytes()
        secret = read_secret(name, data, known)
        if not _lies_as(name, data, new):
            rewrites.append((name, partial(rewrite_secret, folder / name, secret, new)))
    return rewrites


def find_opener(secret: Path, files: Sequence[str | None]) -> str | None:
    """The one of these files whose passphrase opens a secret; the first where it is in the clear, or not there.
    Blocking."""
    if secret.exists():
        data = secret.read_bytes()
        for file in files:
            passphrase = read_passphrase(file)
            with suppress(InvalidArgument):
                read_secret(secret.name, data, [] if passphrase is None else [passphrase])
                return file
    return files[0]


def _lies_as(name: str, data: bytes, passphrase: bytes | None) -> bool:
    if not is_encrypted(data) or passphrase is None:
        return not is_encrypted(data) and passphrase is None
    try:
        from_pem(name, data, [passphrase])
    except InvalidArgument:
        return False
    return True

"""Hashes of content as the audit keeps them: keyed, so that nobody who reads the audit can try out what a short text
was.

The key lies with the other keys of the installation and goes into no export, answer or forwarded entry. Each chain has
its own, derived from it: one vault's hashes say nothing about another's.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER
from vaults.change_notes import ContentHash

KEY_FILE = "audit.key"

MARK = "k:"
"""What keyed hashes begin with. Those without it are older, or are states and versions."""

_BYTES = 16


@dataclass(frozen=True, slots=True)
class HashKey:
    """The key of one chain."""

    key: bytes

    def apply(self, digest: str) -> str:
        """A hash, keyed: equal only for equal ones."""
        keyed = hashlib.blake2b(digest.encode("utf-8", "surrogatepass"), key=self.key, digest_size=_BYTES)
        return MARK + keyed.hexdigest()

    def conceal(self, value: str | ContentHash | None) -> str | None:
        """What is recorded of a state, or of a hash of content."""
        return self.apply(value.digest) if isinstance(value, ContentHash) else value


def open_hash_key(data: Path, passphrase_file: str | None, chain: str) -> HashKey:
    """The key of a chain, made on first use. Blocking. Raises what ``open_secret`` raises."""
    secret = open_secret(data / KEYS_FOLDER, KEY_FILE, passphrase_file)
    return HashKey(hashlib.blake2b(chain.encode(), key=secret, digest_size=32).digest())

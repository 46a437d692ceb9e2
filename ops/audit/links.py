"""How entries are chained: each hash covers the one before, so that no entry can be changed, removed or moved alone."""

from __future__ import annotations

import hashlib

INSTALLATION = "installation"
"""The chain of what concerns no single vault, or all of them. Every other is called by its vault's id."""


def genesis(chain: str) -> bytes:
    """What the first entry of a chain is linked to. Another for each, so that none can pass for another."""
    return hashlib.sha256(f"strongroom audit 1\0{chain}".encode()).digest()


def link(before: bytes, body: str) -> bytes:
    """The hash of an entry, by the hash of the entry before it."""
    return hashlib.sha256(before + body.encode()).digest()

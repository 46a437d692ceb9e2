"""Passwords: which are taken, and how they are kept.

Argon2id with the first parameters OWASP recommends (19 MiB, two passes, one lane): 30 ms of one core for each attempt,
during which other threads run. Blocking; call it on a thread.
"""

from __future__ import annotations

import os
import unicodedata
from functools import cache
from itertools import pairwise
from typing import Literal

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

SHORTEST, LONGEST = 12, 256
"""Characters of a password."""

_MEMORY_KIB, _PASSES, _LANES = 19 * 1024, 2, 1
_DIFFERENT = 5
"""Different characters a password has at least."""


Weakness = Literal["too_short", "too_long", "guessed", "name"]


def find_weakness(password: str, name: str) -> Weakness | None:
    """Why a password would be easily guessed; None: it would not. Length counts, and no classes of characters are
    demanded (NIST SP 800-63B §3.1.1.2); nothing is looked up anywhere."""
    text = _normal(password)
    if len(text) < SHORTEST:
        return "too_short"
    if len(text) > LONGEST:
        return "too_long"
    if len(set(text.casefold())) < _DIFFERENT or _is_a_row(text):
        return "guessed"
    if name.casefold() in text.casefold() and len(text) - len(name) < SHORTEST:
        return "name"
    return None


def hash_password(password: str) -> str:
    """What is kept of a password."""
    kdf = Argon2id(salt=os.urandom(16), length=32, iterations=_PASSES, lanes=_LANES, memory_cost=_MEMORY_KIB)
    return kdf.derive_phc_encoded(_normal(password).encode())


def is_password(password: str, kept: str | None) -> bool:
    """Whether it is the one. ``kept`` None, for whoever has none or does not exist: no, after as long as any."""
    text, nobodys = _normal(password)[: LONGEST + 1], _nobodys()
    try:
        Argon2id.verify_phc_encoded(text.encode(), kept or nobodys)
    except InvalidKey:
        return False
    return kept is not None


def _normal(password: str) -> str:
    # The same letters from another keyboard may come as other code points. A lone surrogate is in no password.
    return unicodedata.normalize("NFKC", password.encode("utf-8", "replace").decode())


@cache
def _nobodys() -> str:
    return hash_password(os.urandom(16).hex())


def _is_a_row(text: str) -> bool:
    """Whether nearly every character follows the one before it, up or down, by the alphabet or on a keyboard."""
    rows = ("qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "1234567890")
    near = {(a, b) for row in rows for a, b in pairwise(row)}
    pairs = list(pairwise(text.casefold()))
    follows = sum((a, b) in near or (b, a) in near or abs(ord(a) - ord(b)) <= 1 for a, b in pairs)
    return follows >= 0.8 * len(pairs)

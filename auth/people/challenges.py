"""What a passkey signs, or an outside provider sends back: a random value that says itself until when, for what and in
which browser it is good.

Nothing is kept of those that were given out, so nobody fills anything up by asking for them; kept is which were used,
until they would be too old in any case. That holds for all processes and across restarts.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct

from auth.one_time import rfc3339
from vaults.db.sql import Writer

LIFE_S = 300
"""Seconds a challenge is good for."""

_NONCE, _UNTIL, _MAC = 16, 8, 32
"""Bytes of each part."""


def make_challenge(seal: bytes, bound_to: str, now: float, life_s: int = LIFE_S) -> bytes:
    """A challenge; ``bound_to``: what it is for, and whose browser it goes to."""
    said = secrets.token_bytes(_NONCE) + struct.pack(">Q", int(now) + life_s)
    return said + _mac(seal, said, bound_to)


def is_challenge(challenge: bytes, seal: bytes, bound_to: str, now: float) -> bool:
    """Whether it was made for this, and is not too old."""
    if len(challenge) != _NONCE + _UNTIL + _MAC:
        return False
    said, mac = challenge[: _NONCE + _UNTIL], challenge[_NONCE + _UNTIL :]
    return hmac.compare_digest(mac, _mac(seal, said, bound_to)) and _until(challenge) > now


def use_up(writer: Writer, challenge: bytes, now: float) -> bool:
    """Have one that ``is_challenge`` found right be good no more; False: it was used before."""
    writer.run("DELETE FROM used_challenges WHERE expires_at <= :now", {"now": rfc3339(now)})
    added = writer.run(
        "INSERT INTO used_challenges (digest, expires_at) VALUES (:digest, :until) ON CONFLICT (digest) DO NOTHING",
        {"digest": hashlib.sha256(challenge).hexdigest(), "until": rfc3339(_until(challenge) + 1)},
    )
    return added == 1


def _until(challenge: bytes) -> int:
    (until,) = struct.unpack(">Q", challenge[_NONCE : _NONCE + _UNTIL])
    return int(until)


def _mac(seal: bytes, said: bytes, bound_to: str) -> bytes:
    return hmac.new(seal, b"challenge\0" + said + bound_to.encode("utf-8", "replace"), hashlib.sha256).digest()

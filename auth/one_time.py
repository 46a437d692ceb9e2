"""Random secrets that open something, and the form they are kept in."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime


def make_secret() -> str:
    """256 random bits, in characters that need no escaping in an address, a cookie or a form."""
    return secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """What is kept of a secret. It is random, so one round of SHA-256 is as hard to undo as the secret is to guess."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def rfc3339(seconds: float) -> str:
    """A moment, in seconds since 1970, as it is stored: such texts compare as the moments do."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

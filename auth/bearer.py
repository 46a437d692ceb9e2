"""The ``Authorization`` header in, the ``WWW-Authenticate`` challenge out (RFC 6750, RFC 9728). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from auth.errors import TokenInvalid

# RFC 6750 §2.1. Trailing blanks: httptools leaves them in the value.
_BEARER = re.compile(rb"bearer +([A-Za-z0-9._~+/-]+=*)[ \t]*", re.IGNORECASE)
_SCHEME = re.compile(rb"[ \t]*bearer(?:[ \t]|$)", re.IGNORECASE)


def bearer_token(values: Sequence[bytes]) -> str | None:
    """The token from all ``Authorization`` headers of a request; None when none speaks of a bearer token.

    Two headers are refused even when equal: another hop may have looked at the other one.
    """
    if not values:
        return None
    if len(values) > 1:
        raise TokenInvalid("header")
    match = _BEARER.fullmatch(values[0])
    if match is not None:
        return match[1].decode("ascii")
    if _SCHEME.match(values[0]):
        raise TokenInvalid("header")
    return None


def challenge(metadata_url: str, scope: str, error: str | None = None) -> str:
    """One challenge. ``error`` only when a token was sent: telling who sent none that it is invalid sends clients
    the wrong way (RFC 6750 §3.1)."""
    parts = [f'error="{error}"'] if error else []
    parts += [f'scope="{scope}"', f'resource_metadata="{metadata_url}"']
    return "Bearer " + ", ".join(parts)

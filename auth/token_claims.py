"""Checking one token. Pure functions; every way a token can be wrong ends in ``TokenInvalid``.

Nothing in a token chooses how it is checked: the issuer only selects which of the configured verifiers is asked,
``kid`` only selects among the loaded keys, and algorithms belong to the key. ``jku``, ``x5u``, ``jwk`` and their
like are never read. PyJWT checks the signature; times, subject and audience are checked here, because PyJWT takes
``"123"`` for a number and an audience list for enough.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import jwt
from jwt.algorithms import AllowedPublicKeys
from jwt.types import Options

from auth.errors import TokenInvalid
from auth.principal import is_name, principal_key

Claims: TypeAlias = Mapping[str, Any]

TOKEN_LIMIT = 8 * 1024
"""Bytes above which a token is refused unread."""

ACCESS_TOKEN = "at+jwt"  # noqa: S105  a media type (RFC 9068)
KID_LIMIT = 256
LATEST_TIME = 2.0**53
"""Seconds since the epoch beyond which a number is not a time but an attack on arithmetic."""

_SIGNATURE_ONLY: Options = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """What a token says of itself, read only to choose its verifier."""

    token: str
    issuer: str
    kid: str
    typ: str | None


@dataclass(frozen=True, slots=True)
class VerifyKey:
    """A public key with the algorithms it may be used with, fixed when the key was loaded."""

    public: AllowedPublicKeys
    algorithms: tuple[str, ...]


def peek(token: str) -> UnverifiedToken:
    """Take a token apart without believing it. Bounded: size first, then two small JSON objects."""
    if len(token) > TOKEN_LIMIT:
        raise TokenInvalid("too_large")
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenInvalid("malformed")
    header, payload = _json_object(parts[0]), _json_object(parts[1])
    if "crit" in header or "b64" in header:
        raise TokenInvalid("malformed")  # no extension is understood here, so none may be critical
    kid, typ, issuer = header.get("kid"), header.get("typ"), payload.get("iss")
    if not isinstance(kid, str) or not 0 < len(kid) <= KID_LIMIT:
        raise TokenInvalid("key")
    if not (typ is None or isinstance(typ, str)):
        raise TokenInvalid("malformed")
    if not isinstance(issuer, str):
        raise TokenInvalid("issuer")
    return UnverifiedToken(token, issuer, kid, typ)


def verify_claims(unverified: UnverifiedToken, key: VerifyKey) -> Claims:
    """The claims, once the signature holds under ``key``. Raises ``TokenInvalid``."""
    claims = verify_signature(unverified.token, key)
    if claims.get("iss") != unverified.issuer:  # a doubled member could read differently the second time
        raise TokenInvalid("issuer")
    return claims


def verify_signature(token: str, key: VerifyKey) -> Claims:
    """The claims that ``key`` signed, whatever issuer they name. Raises ``TokenInvalid``."""
    try:
        claims: dict[str, Any] = jwt.decode(token, key.public, algorithms=list(key.algorithms), options=_SIGNATURE_ONLY)
    except jwt.InvalidSignatureError:
        raise TokenInvalid("signature") from None
    except jwt.InvalidAlgorithmError:
        raise TokenInvalid("key") from None
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        # Not only PyJWT's own errors: cryptography refuses odd keys and signatures with plain ones.
        raise TokenInvalid("malformed") from None
    return claims


@contextmanager
def name_caller_in_refusals(issuer: str, claims: Claims) -> Iterator[None]:
    """Makes a refusal inside name the caller of these claims, which a signature has proved to be the issuer's."""
    try:
        yield
    except TokenInvalid as invalid:
        with suppress(TokenInvalid):
            invalid.principal = principal_key(issuer, subject_of(claims))
        raise


def check_times(claims: Claims, now: float, leeway: float) -> float:
    """Returns ``exp``. ``exp`` and ``iat`` must be there; a token is good while now - leeway < exp and
    iat, nbf ≤ now + leeway, all in seconds since the epoch."""
    expires, issued = _seconds(claims.get("exp")), _seconds(claims.get("iat"))
    starts = _seconds(claims["nbf"]) if "nbf" in claims else issued
    if expires <= now - leeway:
        raise TokenInvalid("expired")
    if max(issued, starts) > now + leeway:
        raise TokenInvalid("not_yet_valid")
    return expires


def subject_of(claims: Claims) -> str:
    """``sub``: text that can stand in a grant and in a log line, or ``TokenInvalid``."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not is_name(subject):
        raise TokenInvalid("claims")
    return subject


def audiences_of(claims: Claims) -> tuple[str, ...]:
    """``aud`` as a tuple of texts, never empty, or ``TokenInvalid``."""
    audience = claims.get("aud")
    values = [audience] if isinstance(audience, str) else audience
    if not isinstance(values, list) or not values or not all(isinstance(value, str) and value for value in values):
        raise TokenInvalid("audience")
    return tuple(values)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenInvalid("claims")
    if not (0 <= value < LATEST_TIME) or not math.isfinite(value):
        raise TokenInvalid("claims")
    return float(value)


def _json_object(part: str) -> dict[str, Any]:
    try:
        padded = part.encode("ascii") + b"=" * (-len(part) % 4)
        # As text, and so as UTF-8 alone: of bytes json would guess, and a proxy in front may guess otherwise.
        value = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8"))
    except (ValueError, RecursionError):
        raise TokenInvalid("malformed") from None
    if not isinstance(value, dict):
        raise TokenInvalid("malformed")
    return value

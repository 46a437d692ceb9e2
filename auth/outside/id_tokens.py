"""Checking an ID token (OpenID Connect Core §3.1.3.7). Pure; signatures and times as for every token here."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from auth.errors import TokenInvalid
from auth.principal import is_name
from auth.settings import ProviderSettings
from auth.token_claims import Claims, UnverifiedToken, VerifyKey, audiences_of, check_times, subject_of, verify_claims


@dataclass(frozen=True, slots=True)
class OutsideIdentity:
    """Who a provider says has signed in. ``email``: only a verified one."""

    subject: str
    name: str | None
    email: str | None
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the token must fit, besides the settings. ``now`` and ``leeway_s``: seconds."""

    nonce: str
    now: float
    leeway_s: float


def check_id_token(
    settings: ProviderSettings, unverified: UnverifiedToken, key: VerifyKey, expected: Expected
) -> OutsideIdentity:
    """Who signed in. Raises ``TokenInvalid``."""
    if unverified.issuer != settings.issuer:
        raise TokenInvalid("issuer")
    claims = verify_claims(unverified, key)
    check_times(claims, expected.now, expected.leeway_s)
    _check_audience(claims, settings.client_id)
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode("utf-8", "replace"), expected.nonce.encode()):
        raise TokenInvalid("claims")
    return _identity(settings, claims)


def _check_audience(claims: Claims, client_id: str) -> None:
    audiences = audiences_of(claims)
    if client_id not in audiences:
        raise TokenInvalid("audience")
    # One made for several says for whom it was asked; one that was asked for by another is not for us.
    if claims.get("azp", None if len(audiences) > 1 else client_id) != client_id:
        raise TokenInvalid("audience")


def _identity(settings: ProviderSettings, claims: Claims) -> OutsideIdentity:
    name, email = claims.get(settings.name_claim), claims.get(settings.email_claim)
    is_verified = claims.get("email_verified") is True
    groups = claims.get(settings.groups_claim)
    listed = groups if isinstance(groups, list) else [groups]
    return OutsideIdentity(
        subject_of(claims),
        name if isinstance(name, str) and is_name(name) else None,
        email if is_verified and isinstance(email, str) and is_name(email) else None,
        frozenset(each for each in listed if isinstance(each, str) and is_name(each)),
    )

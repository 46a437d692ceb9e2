"""The authenticator of one outside issuer's tokens (RFC 9068, and what issuers send in practice)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from auth.errors import TokenInvalid
from auth.jwks import IssuerKeys
from auth.principal import Principal, external_names, is_name
from auth.roles import role_of_scopes
from auth.settings import IssuerSettings
from auth.token_claims import (
    Claims,
    UnverifiedToken,
    audiences_of,
    check_times,
    name_caller_in_refusals,
    subject_of,
    verify_claims,
)

TYPES = frozenset({"at+jwt", "application/at+jwt", "jwt"})
"""RFC 9068 wants ``at+jwt``; many issuers still send ``JWT`` or nothing, so these pass and the audience keeps ID
tokens out. Any other type says that the token was made for something else."""


class ExternalAuthenticator:
    """Answers for the configured issuer alone, compared byte for byte."""

    def __init__(
        self,
        settings: IssuerSettings,
        keys: IssuerKeys,
        public_url: str,
        leeway_s: float,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._public_url = public_url
        self._leeway_s = leeway_s
        self._now = now

    async def authenticate(self, unverified: UnverifiedToken) -> Principal | None:
        """None: another issuer's. Raises ``TokenInvalid``: this issuer's, and bad."""
        if unverified.issuer != self._settings.issuer:
            return None
        if unverified.typ is not None and unverified.typ.lower() not in TYPES:
            raise TokenInvalid("malformed")
        key = await self._keys.find(unverified.kid)
        if key is None:
            raise TokenInvalid("key")
        claims = verify_claims(unverified, key)
        with name_caller_in_refusals(self._settings.issuer, claims):
            expires_at = check_times(claims, self._now(), self._leeway_s)
            vaults = vaults_of_audience(audiences_of(claims), self._settings.audiences, self._public_url)
            if "cnf" in claims:
                raise TokenInvalid("claims")  # bound to a key whose possession nobody proved here (RFC 9449)
            return self._principal(claims, vaults, expires_at)

    def _principal(self, claims: Claims, vaults: frozenset[str] | None, expires_at: float) -> Principal:
        subject = subject_of(claims)
        scope_role = role_of_scopes(_scopes(claims))
        return Principal(
            subject=subject,
            issuer=self._settings.issuer,
            names=external_names(subject, _verified_email(claims), _groups(claims.get(self._settings.groups_claim))),
            token_vaults=vaults,
            scope_role=scope_role,
            lacks_scope=scope_role is None and self._settings.require_scope,
            expires_at=expires_at,
            foreign_token_id=_token_id(claims),
        )


def _token_id(claims: Claims) -> str | None:
    """The issuer's name for the token, if it has one that fits."""
    found = claims.get("jti")
    return found if isinstance(found, str) and is_name(found) else None


def vaults_of_audience(audiences: Sequence[str], accepted: Sequence[str], public_url: str) -> frozenset[str] | None:
    """The vaults a token was issued for, None for all of them; ``TokenInvalid`` when it was not issued for us.

    With ``accepted`` configured, one of these must be named. Without, our own URL stands for every vault, and the URL
    of a vault (RFC 8707: what a client asks a token for) for that vault alone.
    """
    if accepted:
        if not set(accepted).isdisjoint(audiences):
            return None
        raise TokenInvalid("audience", found=", ".join(audiences))
    if public_url in audiences or f"{public_url}/mcp" in audiences:
        return None
    pattern = re.compile(re.escape(public_url) + r"/v/([^/?#]+)/mcp")
    matches = [pattern.fullmatch(audience) for audience in audiences]
    vaults = frozenset(match[1] for match in matches if match)
    if not vaults:
        raise TokenInvalid("audience", found=", ".join(audiences))
    return vaults


def _scopes(claims: Claims) -> list[str]:
    # "scope" is RFC 9068; "scp" is what Entra ID (text) and Okta (list) send instead.
    value = claims.get("scope", claims.get("scp"))
    if isinstance(value, str):
        return value.split(" ")
    return [scope for scope in value if isinstance(scope, str)] if isinstance(value, list) else []


def _verified_email(claims: Claims) -> str | None:
    email = claims.get("email")
    return email if claims.get("email_verified") is True and isinstance(email, str) and is_name(email) else None


def _groups(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(group for group in values if isinstance(group, str) and is_name(group))

"""The authenticator of tokens issued here."""

from __future__ import annotations

import time
from collections.abc import Callable

from auth.access import EVERY_VAULT
from auth.errors import TokenInvalid
from auth.keys import KeyRing, is_kid
from auth.principal import LOCAL, Principal, local_names
from auth.roles import role_of_label
from auth.token_claims import (
    ACCESS_TOKEN,
    Claims,
    UnverifiedToken,
    VerifyKey,
    audiences_of,
    check_times,
    name_caller_in_refusals,
    subject_of,
    verify_claims,
)
from auth.tokens import instance_urn


class LocalAuthenticator:
    """Answers for one installation's own issuer. ``Authenticator`` checks whether the token was revoked."""

    def __init__(
        self, ring: KeyRing, instance_id: str, leeway_s: float, *, now: Callable[[], float] = time.time
    ) -> None:
        self._ring = ring
        self._urn = instance_urn(instance_id)
        self._leeway_s = leeway_s
        self._now = now

    async def authenticate(self, unverified: UnverifiedToken) -> Principal | None:
        """None: not issued here. Raises ``TokenInvalid``: claims to be, and is bad."""
        if unverified.issuer != self._urn:
            return None
        if unverified.typ != ACCESS_TOKEN:
            raise TokenInvalid("malformed")
        key = self._ring.find(unverified.kid)
        if key is None:
            raise TokenInvalid("key", found=unverified.kid if is_kid(unverified.kid) else None)
        claims = verify_claims(unverified, VerifyKey(key.public, ("EdDSA",)))
        with name_caller_in_refusals(LOCAL, claims):
            if not self._is_audience(claims):
                raise TokenInvalid("audience")
            return _principal(claims, check_times(claims, self._now(), self._leeway_s))

    def _is_audience(self, claims: Claims) -> bool:
        """Us alone, or us and the address of the one vault the token opens, which a client asked for (RFC 8707)."""
        audiences, vaults = audiences_of(claims), claims.get("vaults")
        if audiences == (self._urn,):
            return True
        named = f"/v/{vaults[0]}/mcp" if isinstance(vaults, list) and len(vaults) == 1 else None
        return named is not None and len(audiences) == 2 and audiences[0] == self._urn and audiences[1].endswith(named)


def _principal(claims: Claims, expires_at: float) -> Principal:
    subject = subject_of(claims)
    token_id, role, preset = claims.get("jti"), role_of_label(claims.get("role")), claims.get("preset")
    vaults = claims.get("vaults")
    if not isinstance(token_id, str) or not token_id or role is None:
        raise TokenInvalid("claims")
    if not isinstance(vaults, list) or not all(isinstance(vault, str) for vault in vaults):
        raise TokenInvalid("claims")
    if not (preset is None or isinstance(preset, str)):
        raise TokenInvalid("claims")
    return Principal(
        subject=subject,
        issuer=LOCAL,
        names=local_names(subject),
        token_id=token_id,
        token_vaults=None if EVERY_VAULT in vaults else frozenset(vaults),
        token_role=role,
        preset=preset,
        expires_at=expires_at,
    )

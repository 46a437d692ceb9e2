"""The chain: token in, principal out. The only place that decides that a token is nobody's."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from auth.access_cache import AccessCache
from auth.errors import TokenInvalid
from auth.principal import Principal
from auth.token_claims import TOKEN_LIMIT, UnverifiedToken, peek

CACHE_S = 30.0
"""Seconds a verified token is not verified again: checking a signature costs as much as a whole bare request."""

CACHE_SIZE = 4096
"""Tokens remembered; only verified ones enter, so strangers cannot push anyone out."""

_ISSUER = re.compile(r"https?://[A-Za-z0-9._~:/-]{1,190}", re.ASCII)


class TokenAuthenticator(Protocol):
    """Verifies one kind of token."""

    async def authenticate(self, unverified: UnverifiedToken) -> Principal | None:
        """The principal; None: not my kind of token. Raises ``TokenInvalid``: mine, and bad."""


@dataclass(frozen=True, slots=True)
class _CachedPrincipal:
    principal: Principal
    until: float


def _ignore_token_use(token_id: str) -> None:
    """The default of ``on_use``."""


class Authenticator:
    """Asks each authenticator in turn. Revocation is checked on every request, cached token or not. ``on_use`` is
    called, now and then, with the id of each token issued here that is let in."""

    def __init__(
        self,
        chain: Sequence[TokenAuthenticator],
        access_cache: AccessCache,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        on_use: Callable[[str], None] = _ignore_token_use,
    ) -> None:
        self._chain = tuple(chain)
        self._access_cache = access_cache
        self._clock = clock
        self._now = now
        self._on_use = on_use
        self._verified: dict[bytes, _CachedPrincipal] = {}

    async def authenticate(self, token: str) -> Principal:
        """The caller. Raises ``TokenInvalid``, or ``VaultUnavailable`` when nobody can be let in at the moment."""
        if len(token) > TOKEN_LIMIT:
            raise TokenInvalid("too_large")
        # Never the token itself as a key: a dump of this process must not hold the tokens of the last hour.
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        known = self._verified.get(digest)
        if known is not None and self._clock() < known.until:
            principal = known.principal
        else:
            principal = await self._verify(token)
            self._remember(digest, principal)
        if principal.token_id is not None:
            if principal.token_id not in self._access_cache.current.live_tokens:
                await self._look_again(principal, principal.token_id)
            if known is None:
                self._on_use(principal.token_id)
        return principal

    async def _verify(self, token: str) -> Principal:
        unverified = peek(token)
        for authenticator in self._chain:
            principal = await authenticator.authenticate(unverified)
            if principal is not None:
                return principal
        # An unproved claim: reported only if it looks like what an operator may have mistyped.
        raise TokenInvalid("issuer", found=unverified.issuer if _ISSUER.fullmatch(unverified.issuer) else None)

    async def _look_again(self, principal: Principal, token_id: str) -> None:
        # Signed by us and unknown: revoked, or made a moment ago by another process. One look tells.
        if token_id not in (await self._access_cache.refresh()).live_tokens:
            raise TokenInvalid("revoked", principal=principal.key)

    def _remember(self, digest: bytes, principal: Principal) -> None:
        life = CACHE_S if principal.expires_at is None else min(CACHE_S, principal.expires_at - self._now())
        self._verified.pop(digest, None)
        if life <= 0:
            return  # good only by the leeway: verified each time
        while len(self._verified) >= CACHE_SIZE:
            del self._verified[next(iter(self._verified))]
        self._verified[digest] = _CachedPrincipal(principal, self._clock() + life)

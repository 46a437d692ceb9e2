"""Public keys of one outside issuer, fetched from the one address the operator configured.

Nothing in a token can make this module contact another host, and the work a token can cause is bounded: an unknown
``kid`` costs at most one fetch per ``RETRY_S``, shared by all who wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from auth.errors import TokenInvalid
from auth.issuer_requests import IssuerClient, NoAnswer, open_client
from auth.settings import IssuerSettings
from auth.token_claims import VerifyKey

SIZE_LIMIT = 256 * 1024
"""Bytes of a key document, counted while it arrives. Compressed answers are refused: they count differently."""

FRESH_S = 600.0
"""Seconds keys are used before the next fetch: no withdrawn key is trusted longer while the issuer can be reached."""

RETRY_S = 30.0
"""Min seconds between two fetches, whatever the reason."""

STALE_S = 6 * 3600.0
"""Seconds the last keys still serve while the issuer cannot be reached: a night's outage should not lock a team out,
and whoever can cut us off from the issuer should not keep a withdrawn key alive for days."""

RSA_BITS = 2048

_ALGORITHMS_BY_KEY_TYPE = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
}


class IssuerKeys:
    """``find`` a key; ``close`` when done. Times are readings of ``clock``, monotonic seconds."""

    def __init__(self, settings: IssuerSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._keys: dict[str, VerifyKey] | None = None
        self._fetched_at = 0.0
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._client: IssuerClient | None = None
        self.failure: Exception | None = None

    async def find(self, kid: str) -> VerifyKey | None:
        """The key with this id, or None. Raises ``TokenInvalid`` if no keys are cached that may still be trusted."""
        if self._age() < FRESH_S and self._keys is not None and kid in self._keys:
            return self._keys[kid]
        await self._fetch_once()
        if self._keys is None or self._age() > STALE_S:
            raise TokenInvalid("keys_unavailable")
        return self._keys.get(kid)

    async def close(self) -> None:
        """Stop a fetch under way and close the connection."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _age(self) -> float:
        return self._clock() - self._fetched_at

    async def _fetch_once(self) -> None:
        if self._fetching is None or self._fetching.done():
            if self._tried_at is not None and self._clock() - self._tried_at < RETRY_S:
                return
            self._tried_at = self._clock()
            # A task of its own: a caller who goes away must not stop the fetch others wait for.
            self._fetching = asyncio.create_task(self._fetch(), name="jwks")
        await asyncio.shield(self._fetching)

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(self._settings.jwks_timeout_s):
                document = await self._download()
        except (OSError, TimeoutError, NoAnswer) as failure:
            self.failure = failure  # the keys cached so far stay, and age
            return
        self.failure = None
        self._keys = usable_keys(document, self._settings.algorithms)
        self._fetched_at = self._clock()

    async def _download(self) -> object:
        url = self._settings.jwks_url
        if self._client is None:
            self._client = await asyncio.to_thread(open_client, url, self._settings.ca_file)
        return await self._client.get_json(url, SIZE_LIMIT)


def usable_keys(document: object, algorithms: Iterable[str]) -> dict[str, VerifyKey]:
    """The keys of a JWKS document that may verify signatures here. A key that is symmetric, weak, for something else
    or malformed is left out; so is every key of a ``kid`` that occurs twice: nobody can say which is meant."""
    entries = document.get("keys") if isinstance(document, dict) else None
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    count = Counter(entry["kid"] for entry in found if isinstance(entry.get("kid"), str))
    keys = {}
    for entry in found:
        kid = entry.get("kid")
        if isinstance(kid, str) and count[kid] == 1:
            key = _usable(entry, tuple(algorithms))
            if key is not None:
                keys[kid] = key
    return keys


def _usable(entry: dict[str, Any], allowed: tuple[str, ...]) -> VerifyKey | None:
    operations = entry.get("key_ops", ["verify"])
    if entry.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return None
    kind = entry.get("kty") if entry.get("kty") == "RSA" else entry.get("crv")
    fits = _ALGORITHMS_BY_KEY_TYPE.get(kind, ()) if isinstance(kind, str) else ()
    named = entry.get("alg")
    algorithms = tuple(name for name in allowed if name in fits and (named is None or named == name))
    if not algorithms:
        return None
    try:
        public = jwt.PyJWK(entry, algorithms[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    if hasattr(public, "private_numbers") or hasattr(public, "private_bytes"):
        return None  # an issuer that publishes its private key has no secret left
    if isinstance(public, RSAPublicKey) and public.key_size < RSA_BITS:
        return None
    return VerifyKey(public, algorithms)

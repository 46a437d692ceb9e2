"""Asking one outside provider: for its description, its keys, and for who a code stands for.

A description is read once an hour, and half a minute after an attempt that failed; whoever comes meanwhile shares it.
The last one serves while the provider cannot be asked: its keys have an end of their own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote_plus

from auth.errors import TokenInvalid
from auth.issuer_requests import IssuerClient, NoAnswer, open_client
from auth.jwks import IssuerKeys
from auth.outside.discovery import SIZE_LIMIT, ProviderDocument, address_of, read_document
from auth.outside.id_tokens import Expected, OutsideIdentity, check_id_token
from auth.settings import IssuerSettings, ProviderSettings
from auth.token_claims import peek

FRESH_S = 3600.0
"""Seconds a description is believed before it is read again."""

RETRY_S = 30.0
"""Min seconds between two attempts."""

SECRET_LIMIT = 4096
"""Bytes of a client's secret."""

Clock = Callable[[], float]


class ProviderQuestions:
    """Belongs to one event loop. Times are readings of ``clock``, monotonic seconds."""

    def __init__(self, settings: ProviderSettings, clock: Clock = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._client: IssuerClient | None = None
        self._document: ProviderDocument | None = None
        self._keys: IssuerKeys | None = None
        self._all_keys: list[IssuerKeys] = []  # those of addresses of before, which somebody may still wait for
        self._read_at = 0.0
        self._tried_at: float | None = None
        self._one_at_a_time = asyncio.Lock()

    async def describe(self) -> ProviderDocument:
        """What it says of itself. Raises ``NoAnswer``."""
        async with self._one_at_a_time:
            now = self._clock()
            if self._document is not None and now - self._read_at < FRESH_S:
                return self._document
            if self._tried_at is None or now - self._tried_at >= RETRY_S:
                self._tried_at = now
                await self._read(now)
            if self._document is None:
                raise NoAnswer("was asked a moment ago")
            return self._document

    async def exchange(self, code: str, verifier: str, redirect: str, expected: Expected) -> OutsideIdentity:
        """Who a code stands for. Raises ``NoAnswer``, or ``TokenInvalid`` for an ID token that does not hold."""
        document = await self.describe()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        form["client_id"] = self.settings.client_id
        secret, basic = await asyncio.to_thread(self._secret), None
        if secret is not None and document.takes_basic:
            basic = (_escaped(self.settings.client_id), _escaped(secret))
        elif secret is not None:
            form["client_secret"] = secret
        client = await self._open()
        answer = await self._ask(client.post_form(document.token_endpoint, form, SIZE_LIMIT, basic=basic))
        token = answer.get("id_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise NoAnswer("gave no ID token")
        return await self._check(token, expected)

    async def close(self) -> None:
        """Close its connections."""
        for keys in self._all_keys:
            await keys.close()
        if self._client is not None:
            await self._client.close()

    async def _check(self, token: str, expected: Expected) -> OutsideIdentity:
        unverified = peek(token)
        assert self._keys is not None
        key = await self._keys.find(unverified.kid)
        if key is None:
            raise TokenInvalid("key")
        return check_id_token(self.settings, unverified, key, expected)

    async def _read(self, now: float) -> None:
        client = await self._open()
        try:
            found = await self._ask(client.get_json(address_of(self.settings), SIZE_LIMIT))
            document = read_document(self.settings, found)
        except NoAnswer:
            if self._document is None:
                raise
            return
        self._read_at = now
        if self._document is None or self._document.jwks_uri != document.jwks_uri:
            self._keys = IssuerKeys(
                IssuerSettings(
                    issuer=self.settings.issuer,
                    jwks_url=document.jwks_uri,
                    algorithms=self.settings.algorithms,
                    jwks_timeout_s=self.settings.timeout_s,
                    ca_file=self.settings.ca_file,
                    allow_loopback_http=self.settings.allow_loopback_http,
                ),
                clock=self._clock,
            )
            self._all_keys.append(self._keys)
        self._document = document

    async def _ask(self, asking: Awaitable[object]) -> object:
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                return await asking
        except (OSError, TimeoutError) as failure:
            raise NoAnswer("cannot be reached") from failure

    async def _open(self) -> IssuerClient:
        if self._client is None:
            try:
                self._client = await asyncio.to_thread(open_client, self.settings.issuer, self.settings.ca_file)
            except OSError as failure:
                raise NoAnswer("has a ca_file that cannot be read") from failure
        return self._client

    def _secret(self) -> str | None:
        """Read anew each time, so that a changed secret needs no restart."""
        file = self.settings.client_secret_file
        if file is None:
            return None
        try:
            with Path(file).open(encoding="utf-8") as opened:
                secret = opened.read(SECRET_LIMIT).strip()
        except (OSError, ValueError) as failure:
            raise NoAnswer("has a client_secret_file that cannot be read") from failure
        if not secret:
            raise NoAnswer("has a client_secret_file with nothing in it")
        return secret


def _escaped(text: str) -> str:
    """As RFC 6749 §2.3.1 has it before HTTP Basic."""
    return quote_plus(text)

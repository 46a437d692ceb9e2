"""Asking an outside issuer: one address at a time, each of which the operator configured.

No redirect is followed and no proxy taken from the environment; answers are JSON, bounded in size while they arrive,
and not compressed, which would count differently. The time is bounded by whoever asks.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2


class NoAnswer(Exception):
    """The issuer answered with something that is not what was asked for, or not at all."""


class IssuerClient:
    """Keeps connections; ``close`` when done."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def get_json(self, url: str, limit: int) -> object:
        """The document there, of ``limit`` bytes at most. Raises ``NoAnswer``, or ``OSError`` for what TLS finds
        wrong."""
        return await self._ask(self._client.build_request("GET", url), limit)

    async def post_form(
        self, url: str, form: Mapping[str, str], limit: int, *, basic: tuple[str, str] | None
    ) -> object:
        """The answer to a form; ``basic``: name and password of the client. Raises as ``get_json``."""
        import httpx2

        request = self._client.build_request("POST", url, data=dict(form))
        if basic is not None:
            request = next(httpx2.BasicAuth(*basic).auth_flow(request))
        return await self._ask(request, limit)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, request: httpx2.Request, limit: int) -> object:
        import httpx2

        body = bytearray()
        try:
            response = await self._client.send(request, stream=True)
            try:
                if response.status_code != 200 or "content-encoding" in response.headers:
                    raise NoAnswer  # a redirect too: the configured address is the only one
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > limit:
                        raise NoAnswer
            finally:
                await response.aclose()
            return json.loads(bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as failure:
            raise NoAnswer from failure


def open_client(url: str, ca_file: str | None) -> IssuerClient:
    """A client for the issuer at ``url``. Blocks: certificates take a while."""
    import httpx2

    if urlsplit(url).scheme == "https":
        context = ssl.create_default_context(cafile=ca_file)
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; plain http to loopback needs none
    # trust_env=False: no proxy comes from the environment behind the operator's back.
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    return IssuerClient(httpx2.AsyncClient(verify=context, trust_env=False, follow_redirects=False, headers=headers))

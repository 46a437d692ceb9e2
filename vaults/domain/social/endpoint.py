"""The one module that speaks to the network: at the address the operator set, and nowhere else.

No redirect is followed, no proxy taken from the environment, no answer read that is compressed, long, or late.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vaults.domain.social.api_answer import ApiAnswer, ApiRequest
from vaults.endpoint_client import open_client
from vaults.errors import Overloaded, RateLimited, Timeout

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 15.0
"""Seconds of a whole exchange."""

SIZE_LIMIT = 1024 * 1024
"""Bytes of an answer, counted as it arrives. Compressed answers are refused: their size is unknown before unpacking."""

REQUESTS, WINDOW_S = 100, 60.0
"""Requests a vault may make within a window of seconds, as the network has it. Each process counts for itself: where
several serve, the network is the one to say when it is enough."""


class MoltbookEndpoint:
    """Sends requests. Belongs to one event loop. Times are readings of ``clock``, monotonic seconds."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._timeout_s, self._clock = timeout_s, clock
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)
        self._opening = asyncio.Lock()
        self._client: httpx2.AsyncClient | None = None
        self._closed = False

    async def send(
        self, vault: str, request: ApiRequest, api_key: str | None, timeout_s: float | None = None
    ) -> ApiAnswer:
        """The answer, whatever its status. Raises ``RateLimited`` for a vault's own number of requests, ``Overloaded``
        where the network was not reached, and ``Timeout`` where nobody knows what became of the request."""
        self._count(vault)
        most = min(timeout_s or self._timeout_s, self._timeout_s)
        client = await self._opened()
        try:
            async with asyncio.timeout(most):
                return await self._exchange(client, request, api_key)
        except TimeoutError:
            raise Timeout(f"Moltbook did not answer within {most:g} s", hint="look whether it was done") from None

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        self._closed = True
        async with self._opening:
            client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _count(self, vault: str) -> None:
        now, recent = self._clock(), self._recent[vault]
        while recent and recent[0] <= now - WINDOW_S:
            recent.popleft()
        if len(recent) >= REQUESTS:
            wait = max(1.0, round(recent[0] + WINDOW_S - now, 1))
            raise RateLimited(
                f"{REQUESTS} requests a minute are all Moltbook takes: try again in {wait:g} s", retry_after_s=wait
            )
        recent.append(now)

    async def _exchange(self, client: httpx2.AsyncClient, request: ApiRequest, api_key: str | None) -> ApiAnswer:
        import httpx2

        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        sent = _to_json(request.body)
        if sent is not None:
            headers["content-type"] = "application/json"
        body = bytearray()
        try:
            async with client.stream(
                request.method, self.url + request.target, headers=headers, content=sent
            ) as response:
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > SIZE_LIMIT:
                        raise Timeout("Moltbook's answer is too long to read", hint="look whether it was done")
        except (httpx2.ConnectError, httpx2.InvalidURL):
            raise Overloaded("Moltbook cannot be reached", retry_after_s=30.0) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError, RuntimeError):
            raise Timeout("Moltbook broke off", hint="look whether it was done") from None
        compressed = "content-encoding" in response.headers
        return ApiAnswer(
            response.status_code, None if compressed else _from_json(body), response.headers.get("retry-after")
        )

    async def _opened(self) -> httpx2.AsyncClient:
        async with self._opening:
            if self._closed:
                raise Overloaded("the server is stopping")
            if self._client is None:
                self._client = await asyncio.to_thread(open_client, self.url)
            return self._client


def _to_json(body: Any) -> bytes | None:
    """As ASCII, so that whatever text somebody posts can be sent."""
    return (
        None if body is None else json.dumps({name: each for name, each in body.items() if each is not None}).encode()
    )


def _from_json(body: bytearray) -> Any:
    """None for what is no JSON: the status alone tells then."""
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError):
        return None

"""Variants of a query from the endpoint the operator configured: a model that rephrases, behind plain HTTP.

``POST {"query": "…"}`` as JSON, answered 200 with ``{"variants": ["…", …]}``. The only place where a search leaves
the machine, and only when ``expansion.endpoint`` is set. A slow or broken endpoint costs one search its time-out;
then no search calls it for ``PAUSE_S``.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from vaults.endpoint_client import open_client

if TYPE_CHECKING:
    import httpx2

MAX_VARIANTS = 2
"""Variants of one query at most."""

CACHE_SIZE = 1024
"""Answers cached, least recently used first out."""

PAUSE_S = 30.0
"""Seconds for which an endpoint that failed is not called."""

QUERY_LIMIT = 1_000
"""Characters of a query that are sent; a pasted page needs no expansion."""

VARIANT_LIMIT = 500
"""Characters of a variant; a longer one is dropped."""

SIZE_LIMIT = 64 * 1024
"""Bytes of an answer, counted as it arrives. Compressed answers are refused: their size is unknown before unpacking."""


class ExpansionUnavailable(Exception):
    """There are no variants. ``reason`` is plain words, safe for a warning; the search goes on without them."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class QueryExpander:
    """Asks the endpoint, and caches its answers. Belongs to one event loop. With ``url`` None no query has variants."""

    def __init__(
        self, url: str | None, timeout_s: float, cache: int = CACHE_SIZE, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._url, self._timeout_s, self._kept, self._clock = url, timeout_s, cache, clock
        self._cache: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._opening = asyncio.Lock()
        self._client: httpx2.AsyncClient | None = None
        self._retry_at = -math.inf
        self._closed = False

    @property
    def configured(self) -> bool:
        """Whether there is an endpoint to ask."""
        return bool(self._url)

    async def variants(self, query: str) -> list[str]:
        """Up to ``MAX_VARIANTS`` other wordings, best first; never the query itself. Raises ExpansionUnavailable."""
        asked = _to_one_line(query[:QUERY_LIMIT])
        if not asked or not self._url:
            return []
        known = self._cache.get(asked)
        if known is not None:
            self._cache.move_to_end(asked)
            return list(known)
        if self._closed:
            raise ExpansionUnavailable("the server is stopping")
        if self._clock() < self._retry_at:
            raise ExpansionUnavailable("the endpoint failed a moment ago")
        try:
            found = usable_variants(await self._ask(self._url, asked), asked)
        except ExpansionUnavailable:
            self._retry_at = self._clock() + PAUSE_S
            raise
        self._remember(asked, found)
        return list(found)

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        self._closed = True
        async with self._opening:
            client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _ask(self, url: str, query: str) -> object:
        """The whole exchange within the time-out."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return json.loads(await self._exchange(url, query))
        except TimeoutError:
            raise ExpansionUnavailable(f"the endpoint did not answer within {self._timeout_s:g} s") from None
        except (ValueError, RecursionError):
            raise ExpansionUnavailable("the endpoint's answer is not JSON") from None

    async def _exchange(self, url: str, query: str) -> bytes:
        client = await self._opened(url)
        import httpx2

        body = bytearray()
        try:
            async with client.stream("POST", url, json={"query": query}) as response:
                if response.status_code != 200:  # a redirect too: the configured address is the only one
                    raise ExpansionUnavailable(f"the endpoint answered {response.status_code}")
                if "content-encoding" in response.headers:
                    raise ExpansionUnavailable("the endpoint's answer is compressed")
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > SIZE_LIMIT:
                        raise ExpansionUnavailable("the endpoint's answer is too long")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, RuntimeError):
            raise ExpansionUnavailable("the endpoint cannot be reached") from None
        return bytes(body)

    async def _opened(self, url: str) -> httpx2.AsyncClient:
        async with self._opening:
            if self._closed:
                raise ExpansionUnavailable("the server is stopping")
            if self._client is None:
                self._client = await asyncio.to_thread(open_client, url)
            return self._client

    def _remember(self, query: str, found: tuple[str, ...]) -> None:
        self._cache[query] = found
        while len(self._cache) > self._kept:
            self._cache.popitem(last=False)


def usable_variants(document: object, query: str) -> tuple[str, ...]:
    """The usable variants in an answer. Raises ExpansionUnavailable if it has not the agreed shape."""
    variants: object = document.get("variants") if isinstance(document, dict) else None
    if not isinstance(variants, list) or not all(isinstance(variant, str) for variant in variants):
        raise ExpansionUnavailable("the endpoint's answer has no list of variants")
    fresh: dict[str, str] = {query.casefold(): query}
    for variant in variants:
        text = _to_one_line(variant)
        if 0 < len(text) <= VARIANT_LIMIT:
            fresh.setdefault(text.casefold(), text)
    return tuple(fresh.values())[1 : MAX_VARIANTS + 1]


def _to_one_line(text: str) -> str:
    """One line; a lone surrogate, which neither JSON nor SQLite takes, becomes a question mark."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())

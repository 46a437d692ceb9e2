"""A model behind an endpoint that speaks as OpenAI's does: ``POST <url>/chat/completions``.

The only place where conversations leave the machine for a model, and only when ``extraction.url`` is set. No redirect
is followed and no proxy of the environment used: they go to the address the operator named, and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vaults.endpoint_client import open_client, read_retry_after
from vaults.transcripts.model_extraction.language_model import MAX_ANSWER, BadAnswer, ModelReply, ModelUnavailable

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 4
"""The first, and three more when the endpoint is busy or broken."""

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Seconds before the second attempt, doubled for each further one; and the most an endpoint may ask for."""

_TOO_MANY = 429


class _RetryableStatus(Exception):
    """It is worth asking again. ``wait_s``: when, if the endpoint said so."""

    def __init__(self, status: int, wait_s: float | None) -> None:
        super().__init__(status)
        self.status, self.wait_s = status, wait_s


@dataclass(slots=True)
class ModelEndpoint:
    """``wait`` and ``jitter`` (0…1) stand between attempts. Belongs to one event loop."""

    url: str
    model: str
    api_key: str | None = field(repr=False)
    timeout_s: float
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    _client: httpx2.AsyncClient | None = None

    async def ask(self, prompt: str, schema: dict[str, Any]) -> ModelReply:
        """The message of its first choice."""
        shape = {"name": "memories", "strict": True, "schema": schema}
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt.encode("utf-8", "replace").decode()}],
            "response_format": {"type": "json_schema", "json_schema": shape},
        }
        for attempt in range(ATTEMPTS):
            try:
                return _read_completion(await self._within_time(body))
            except _RetryableStatus as busy:
                wait_s = self._to_wait(attempt, busy.wait_s)
                if attempt + 1 == ATTEMPTS or wait_s > LONGEST_WAIT_S:
                    raise ModelUnavailable(f"the endpoint answered {busy.status}") from None
            await self.wait(wait_s)
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _to_wait(self, attempt: int, asked_s: float | None) -> float:
        """Twice as long each time, and never all clients at once; what the endpoint asks for goes first."""
        grown: float = FIRST_WAIT_S * 2**attempt
        return asked_s + self.jitter() if asked_s is not None else grown * (0.5 + self.jitter() / 2)

    async def _within_time(self, body: dict[str, Any]) -> bytes:
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._exchange(body)
        except TimeoutError:
            raise ModelUnavailable(f"the endpoint did not answer within {self.timeout_s:g} s") from None

    async def _exchange(self, body: dict[str, Any]) -> bytes:
        import httpx2

        if self._client is None:
            headers = {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}
            self._client = await asyncio.to_thread(open_client, self.url, headers)
        found = bytearray()
        try:
            async with self._client.stream("POST", f"{self.url.rstrip('/')}/chat/completions", json=body) as response:
                status = response.status_code
                if status == _TOO_MANY or status >= 500:
                    raise _RetryableStatus(status, read_retry_after(response.headers.get("retry-after")))
                if status != 200:  # a redirect too: the configured address is the only one
                    raise ModelUnavailable(f"the endpoint answered {status}")
                if "content-encoding" in response.headers:  # its size is unknown before unpacking
                    raise BadAnswer("the endpoint's answer is compressed")
                async for chunk in response.aiter_raw():
                    found += chunk
                    if len(found) > MAX_ANSWER:
                        raise BadAnswer("the answer is too long")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, RuntimeError):
            raise ModelUnavailable("the endpoint cannot be reached") from None
        return bytes(found)


def _read_completion(data: bytes) -> ModelReply:
    """Text and tokens of a completion."""
    try:
        document = json.loads(data)
        text = document["choices"][0]["message"]["content"]
        usage = document.get("usage")
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        raise BadAnswer("the endpoint's answer is no completion") from None
    if not isinstance(text, str):
        raise BadAnswer("the model gave no text")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return ModelReply(text, tokens if isinstance(tokens, int) and 0 <= tokens < 2**40 else None)

"""Calls of an embedding endpoint: one at a time, each within its time, tried again only where that may help.

They block, so that the endpoint takes the place of a model in the thread of ``worker.py``. Inside runs a loop of its
own, because only that can end a whole exchange on time, however slowly an answer trickles in.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from vaults.embed.endpoint_protocols import PROTOCOLS, Vectors
from vaults.endpoint_client import open_client, read_key, read_retry_after
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingSettings, find_embedding_protocol

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 3
"""The first, and two more when the endpoint is busy, gone, or broke the connection."""

FIRST_WAIT_S = 0.5
"""Seconds before the second attempt, and twice as many before the third."""

MAX_WIDTH = 16_384
"""Numbers of a vector whose width is not known yet: widths in use end at 4,096."""

MAX_NUMBER = 64
"""Bytes of a number with what stands around it, also in an answer that is indented."""

MAX_FRAME = 64 * 1024
"""Bytes of an answer besides its numbers."""

BUDGET = 0.9
"""Share of ``timeout_s`` one call may take with all attempts: the whole of it would count as a model that hangs."""

_BUSY = (429, 502, 503, 504)
_OF_THE_TEXTS = (400, 413, 422, 500)  # 500: Ollama answers it where one text gives a vector that is no number
_REASONS = {
    401: "the endpoint refuses the key (401): see embedding.api_key_file",
    403: "the endpoint refuses the key (403): see embedding.api_key_file",
    404: "the endpoint has no such address, or not the model of embedding.model (404)",
}


class TextsRefused(Exception):
    """These texts got no vectors; others may. ``reason`` is plain words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Busy(Exception):
    """It is worth asking again. ``wait_s``: when, if the endpoint said so."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.wait_s = reason, wait_s


class EndpointConnection:
    """The endpoint of the settings. Belongs to one thread, which has no event loop of its own. ``wait`` and ``jitter``
    (0…1) stand between attempts."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url, self._model = settings.endpoint or "", settings.model
        self._protocol = PROTOCOLS[find_embedding_protocol(self._url) or "openai"]
        self._limit_s = BUDGET * settings.timeout_s
        self._max_answer = MAX_FRAME
        self._wait, self._jitter = wait, jitter
        self._client = open_client(self._url, _authorization(settings))
        self._runner = asyncio.Runner()

    def ask(self, texts: Sequence[str], *, attempts: int = ATTEMPTS, width: int = MAX_WIDTH) -> Vectors:
        """What the endpoint answers, unchecked. Raises ``EmbeddingUnavailable`` where it gives no answer, or one longer
        than vectors of ``width`` numbers are, and ``TextsRefused`` where it gives none for these texts."""
        # Reading a million numbers stops all threads for a second, so an answer is bounded by what was asked.
        self._max_answer = MAX_FRAME + len(texts) * width * MAX_NUMBER
        return self._runner.run(self._within_time(texts, attempts))

    def close(self) -> None:
        """Close its connections."""
        self._runner.run(self._client.aclose())
        self._runner.close()

    async def _within_time(self, texts: Sequence[str], attempts: int) -> Vectors:
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._try_several_times(texts, attempts)
        except TimeoutError:
            raise EmbeddingUnavailable(f"the endpoint did not answer within {self._limit_s:g} s") from None

    async def _try_several_times(self, texts: Sequence[str], attempts: int) -> Vectors:
        for attempt in range(1, attempts + 1):
            try:
                return self._read(await self._exchange(texts))
            except _Busy as busy:
                if attempt == attempts:
                    raise EmbeddingUnavailable(busy.reason) from None
                wait_s = self._to_wait(attempt, busy)
            await self._wait(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def _to_wait(self, attempt: int, busy: _Busy) -> float:
        """Twice as long each time, and never all clients at once; what the endpoint asks for goes first, and is not
        waited for where the call would be over by then."""
        if busy.wait_s is None:
            return FIRST_WAIT_S * 2.0 ** (attempt - 1) * (0.5 + self._jitter() / 2)
        if busy.wait_s >= self._limit_s:
            raise EmbeddingUnavailable(busy.reason)
        return busy.wait_s + self._jitter() * FIRST_WAIT_S

    def _read(self, answer: bytes) -> Vectors:
        try:
            return self._protocol.read(answer)
        except ValueError:
            raise TextsRefused("the endpoint's answer has no vectors in it") from None

    async def _exchange(self, texts: Sequence[str]) -> bytes:
        import httpx2

        # A lone surrogate, which JSON does not take, becomes a question mark.
        plain = [text.encode("utf-8", "replace").decode() for text in texts]
        try:
            async with self._client.stream(
                "POST", self._url, json=self._protocol.to_body(self._model, plain)
            ) as answer:
                _check_head(answer)
                return await _read_body(answer, self._max_answer)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError):
            raise _Busy("the endpoint cannot be reached") from None


def _check_head(answer: httpx2.Response) -> None:
    """Raises unless vectors follow. A redirect is refused too: the configured address is the only one."""
    status = answer.status_code
    if status in _BUSY:
        raise _Busy(f"the endpoint answered {status}", read_retry_after(answer.headers.get("retry-after")))
    if status in _OF_THE_TEXTS:
        raise TextsRefused(f"the endpoint refuses these texts ({status})")
    if 300 <= status < 400:
        raise EmbeddingUnavailable(f"the endpoint redirects ({status}), which is not followed")
    if status != 200:
        raise EmbeddingUnavailable(_REASONS.get(status, f"the endpoint answered {status}"))
    if "content-encoding" in answer.headers:  # its size is unknown before unpacking
        raise EmbeddingUnavailable("the endpoint's answer is compressed")


async def _read_body(answer: httpx2.Response, most: int) -> bytes:
    found = bytearray()
    async for chunk in answer.aiter_raw():
        found += chunk
        if len(found) > most:
            raise EmbeddingUnavailable("the endpoint's answer is too long")
    return bytes(found)


def _authorization(settings: EmbeddingSettings) -> dict[str, str]:
    """Read anew for each connection: a key may have been replaced."""
    if settings.api_key_file is None:
        return {}
    try:
        return {"authorization": f"Bearer {read_key(settings.api_key_file)}"}
    except ValueError as wrong:
        raise EmbeddingUnavailable(f"embedding.api_key_file {wrong}") from None

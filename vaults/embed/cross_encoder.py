"""Scores of a cross-encoder for the event loop: awaitable, bounded in time, cached. No model is bundled or fetched."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from vaults.embed.cross_encoder_backend import CrossEncoderOptions, Scorer
from vaults.embed.cross_encoder_model import load_cross_encoder
from vaults.embed.cross_encoder_thread import CrossEncoderThread, ScoringJob, ScoringOutcome, cross_encoder_unavailable
from vaults.embed.state import EmbeddingState

_CLOSE_WAIT_S = 2.0


class CrossEncoderService:
    """Belongs to one event loop. The model is loaded by the first call that needs it, never before.

    ``score`` raises EmbeddingUnavailable when no model can answer: none configured, absent, failed, slower than
    ``timeout_s``, busy with others, closing. Cached scores are still returned.
    """

    def __init__(
        self,
        options: CrossEncoderOptions,
        load: Callable[[], Scorer] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._thread = CrossEncoderThread(
            load or functools.partial(load_cross_encoder, options), options.timeout_s, clock
        )
        self._cache: OrderedDict[bytes, float] = OrderedDict()

    @property
    def configured(self) -> bool:
        """Whether the settings name a model; it may still turn out to be absent."""
        return bool(self._options.model)

    @property
    def identity(self) -> str | None:
        """``name@digest`` of the model in use; None until it has been loaded once."""
        return self._thread.identity

    def state(self) -> EmbeddingState:
        """For status and health. Loads nothing."""
        return self._thread.state() if self.configured else EmbeddingState("off", "off", 0, None)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, 0…1, in the order given. Only what is not cached is computed."""
        encoded = query.encode("utf-8", "surrogatepass")
        keys = [_cache_key(encoded, text) for text in texts]
        known = {key: self._cache[key] for key in keys if key in self._cache}
        for key in known:
            self._cache.move_to_end(key)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known |= await self._compute(query, missing)
        return [known[key] for key in keys]

    async def close(self) -> None:
        """Fail all waiters and end the thread. Returns within 2 s; a stuck thread is left to the process's end."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        thread = self._thread.close(lambda: _wake(loop, ended))
        if thread is None:
            return
        # join() at once would block the loop for as long as the model's last call takes.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_WAIT_S):
                await ended.wait()
            thread.join()

    async def _compute(self, query: str, missing: Mapping[bytes, str]) -> dict[bytes, float]:
        if not self.configured:
            raise cross_encoder_unavailable("no model is configured")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[dict[bytes, float]] = loop.create_future()

        def tell(outcome: ScoringOutcome) -> None:
            if not isinstance(outcome, str):
                scores = dict(zip(missing, outcome, strict=True))
                self._remember(scores)  # also when the caller has left: it may ask again
                if not answer.done():
                    answer.set_result(scores)
            elif not answer.done():
                answer.set_exception(cross_encoder_unavailable(outcome))

        job = ScoringJob(query, list(missing.values()), loop, tell)
        self._thread.submit(job)
        try:
            async with asyncio.timeout(self._options.timeout_s):
                return await answer
        except TimeoutError:
            raise cross_encoder_unavailable(f"no scores within {self._options.timeout_s:g} s") from None
        finally:
            self._thread.drop(job)

    def _remember(self, scores: Mapping[bytes, float]) -> None:
        self._cache.update(scores)
        while len(self._cache) > self._options.cache:
            self._cache.popitem(last=False)


def _cache_key(query: bytes, text: str) -> bytes:
    """32 bytes, however long the query and the text."""
    return hashlib.sha256(
        hashlib.sha256(query).digest() + hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    ).digest()


def _wake(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    loop.call_soon_threadsafe(ended.set)

"""Embeddings for the event loop: awaitable, bounded, cached, and never a reason for a call to crash.

One model, in one thread. Calls that arrive while the model works are its next batch, so no timer is needed:
a lone text waits for nothing, and under load batches grow by themselves.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.embed.backend import Embedder, ModelIdentity
from vaults.embed.prefixes import prefixes_of
from vaults.embed.priority_queue import EmbeddingRequest, Priority
from vaults.embed.resident_models import ResidentModels
from vaults.embed.state import EmbeddingState, embedding_unavailable
from vaults.embed.worker import EmbeddingWorker
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.observer import Observer
from vaults.settings import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np

_WINDOW = 512  # texts of one caller in the queue at a time: long enough to sort by length, short enough to share
_CLOSE_WAIT_S = _BACK_WAIT_S = 2.0


class EmbeddingService:
    """Belongs to one event loop. The model is loaded by the first call that needs it, never before.
    ``loads_for_backfill``: whether missing vectors are a reason to load it too; a process that ends with its command
    would load it for nothing. ``residents``: who it shares the memory for models with.

    Every method raises EmbeddingUnavailable when no model can answer (off, absent, failed, hung, closing) and
    Overloaded when too many texts wait.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        observer: Observer,
        load: Callable[[], Embedder] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        loads_for_backfill: bool = True,
        residents: ResidentModels | None = None,
    ) -> None:
        self.loads_for_backfill = loads_for_backfill
        self._settings = settings
        self._prefixes = prefixes_of(settings)
        self._worker = EmbeddingWorker(settings, observer, load or loader_of(settings), clock, residents)
        self._cache: OrderedDict[tuple[ModelIdentity | None, str], np.ndarray] = OrderedDict()
        self._waiting: set[EmbeddingRequest] = set()
        self._watch: asyncio.TimerHandle | None = None

    @property
    def identity(self) -> ModelIdentity | None:
        """The identity of the model in use; None until it has been loaded once."""
        return self._worker.identity

    def state(self) -> EmbeddingState:
        """For status and health. Loads nothing."""
        if self._settings.engine == "off":
            return EmbeddingState("off", "off", 0, None)
        return self._worker.state()

    async def warm(self) -> ModelIdentity:
        """Load the model now and return its identity."""
        if self.identity is None:
            await self.each(["strongroom"], urgent=True)
        return self._require_identity()

    async def is_back(self) -> bool:
        """Whether the model answers again after a failure; what takes over two seconds is known the next time. An
        endpoint is asked here, no sooner than its failure allows, because callers do not wait for one that failed. A
        model of this machine is loaded again by whoever needs it."""
        if self._settings.engine == "endpoint" and self._worker.state().status == "failed":
            with suppress(TimeoutError, EmbeddingUnavailable, Overloaded):
                async with asyncio.timeout(_BACK_WAIT_S):
                    await self.each(["strongroom"], urgent=False)
        return self._worker.state().status == "ready"

    async def query(self, text: str) -> np.ndarray:
        """The vector of a search, read-only. A repeated query comes from the cache, also while the model fails."""
        known = self._cache.get((self.identity, text))
        if known is not None:
            self._cache.move_to_end((self.identity, text))
            return known
        (row,) = await self._submit(Priority.QUERY, [self._prefixes.query + text])
        if row is None:
            raise embedding_unavailable("the model gives no vector for this text")
        vector = row.copy()  # the row is a view that would keep its whole batch
        vector.setflags(write=False)
        self._remember(text, vector)
        return vector

    async def texts(self, texts: Sequence[str], *, urgent: bool) -> np.ndarray:
        """float32 ``[len(texts), width]`` in order; ``urgent`` for a write somebody waits for, else an import.

        Raises EmbeddingUnavailable when the model has no vector for some; ``failed`` holds their positions.
        """
        rows = await self.each(texts, urgent=urgent)
        found = [row for row in rows if row is not None]
        if len(found) < len(rows):
            failed = [place for place, row in enumerate(rows) if row is None]
            raise EmbeddingUnavailable("The model gives no vector for some of these texts.", failed=failed)
        width = (await self.warm()).width
        import numpy as np

        return np.stack(found) if found else np.empty((0, width), dtype=np.float32)

    async def each(self, texts: Sequence[str], *, urgent: bool) -> list[np.ndarray | None]:
        """As ``texts``, but row by row: None for a text the model has no vector for."""
        priority = Priority.WRITE if urgent else Priority.IMPORT
        window = min(_WINDOW, self._settings.queue)
        rows: list[np.ndarray | None] = []
        for start in range(0, len(texts), window):
            texts_of_window = [self._prefixes.document + text for text in texts[start : start + window]]
            rows += await self._submit(priority, texts_of_window)
        return rows

    async def close(self) -> None:
        """Fail all waiters and end the thread. Returns within 2 s; a stuck thread is left to the process's end."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        thread = self._worker.close(lambda: _wake(loop, ended))
        self._disarm()
        if thread is None:
            return
        # join() at once would block the loop for as long as the model's last call takes.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_WAIT_S):
                await ended.wait()
            thread.join()

    def _require_identity(self) -> ModelIdentity:
        if self.identity is None:
            raise embedding_unavailable("the model was not loaded")
        return self.identity

    async def _submit(self, priority: Priority, texts: Sequence[str]) -> list[np.ndarray | None]:
        if self._settings.engine == "off":
            raise embedding_unavailable("they are switched off on this server")
        loop = asyncio.get_running_loop()
        request = EmbeddingRequest(loop.create_future(), loop, [None] * len(texts), len(texts))
        self._worker.submit(priority, texts, request)
        self._waiting.add(request)
        self._arm()
        try:
            await request.future
        except asyncio.CancelledError:
            self._worker.drop(request)
            raise
        finally:
            self._waiting.discard(request)
            if not self._waiting:
                self._disarm()
        return request.rows

    def _remember(self, text: str, vector: np.ndarray) -> None:
        self._cache[self.identity, text] = vector
        while len(self._cache) > self._settings.query_cache:
            self._cache.popitem(last=False)

    # The watch: a timer of the loop, armed only while somebody waits.

    def _arm(self, after_s: float | None = None) -> None:
        if self._watch is None:
            delay = self._settings.timeout_s if after_s is None else after_s
            self._watch = asyncio.get_running_loop().call_later(delay, self._check)

    def _disarm(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _check(self) -> None:
        self._watch = None
        left = self._worker.overdue()
        if left > 0 and self._waiting:
            self._arm(left)


def _wake(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    loop.call_soon_threadsafe(ended.set)


def loader_of(settings: EmbeddingSettings, stamps: Path | None = None) -> Callable[[], Embedder]:
    """What loads the model of the settings. ``stamps``: folder in which models behind endpoints are remembered."""

    def load() -> Embedder:
        from vaults.embed.engines import load_embedder

        return load_embedder(settings, stamps)

    return load

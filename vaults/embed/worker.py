"""The one thread that owns the model: loads it on first need, embeds, reports, and may get stuck.

A stuck native call cannot be ended, only waited for. So after ``timeout_s`` without a finished call all waiters get an
error, new calls are refused at once, and if the call does return, the service is ready again. A second thread with a
second model was decided against: it would double the memory, meet the same locks inside the library, and hang too.
Health reports ``hung``, and a restart is the operator's choice.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from vaults.embed.backend import Embedder, ModelIdentity
from vaults.embed.batches import BATCH_CHARACTERS, ENDPOINT_CHARACTERS, ENDPOINT_TEXTS
from vaults.embed.priority_queue import EmbeddingRequest, Priority, PriorityQueue
from vaults.embed.resident_models import ResidentModels
from vaults.embed.state import EmbeddingState, EmbeddingStatus, embedding_unavailable, plain_reason
from vaults.embed.vector_checks import embed_rows
from vaults.errors import EmbeddingUnavailable, StrongroomError
from vaults.observer import Observer
from vaults.settings import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)

_BACKOFF_S = (1.0, 60.0)  # first pause after a failed load, and the longest
_PROBE = ("strongroom",)  # a text no sound model fails on
_SLOW_START = 50.0  # texts per second, assumed until the first call has been timed


class EmbeddingWorker:
    """Thread-safe. ``submit``, ``drop``, ``overdue``, ``state`` return at once; only the thread itself waits."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        observer: Observer,
        load: Callable[[], Embedder],
        clock: Callable[[], float],
        residents: ResidentModels | None = None,
    ) -> None:
        self._residents = None if settings.engine == "endpoint" else residents  # it takes no memory here
        self._settings, self._observer, self._load_model, self._clock = settings, observer, load, clock
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        # All below is changed under the condition's lock only.
        batch, characters = settings.batch, BATCH_CHARACTERS
        if settings.engine == "endpoint":  # one request a slice: several in a row would count as one silence
            batch, characters = min(batch, ENDPOINT_TEXTS), ENDPOINT_CHARACTERS
        self._queue = PriorityQueue(limit=settings.queue, batch=batch, characters=characters)
        self._status: EmbeddingStatus = "cold"
        self._reason: str | None = None
        self._embedder: Embedder | None = None
        self._identity: ModelIdentity | None = None
        self._busy_since: float | None = None
        self._hung = self._closed = self._unwanted = False
        self._ended: list[Callable[[], None]] = []
        self._retry_at = 0.0
        self._pause = _BACKOFF_S[0]
        self._rate = _SLOW_START

    @property
    def identity(self) -> ModelIdentity | None:
        return self._identity

    @property
    def is_busy(self) -> bool:
        """Whether texts wait for the model, or it works on some."""
        return self._busy_since is not None

    def state(self) -> EmbeddingState:
        with self._wake:
            status: EmbeddingStatus = "hung" if self._is_hung() else self._status
            engine = getattr(self._embedder, "engine", self._settings.engine)  # an embedder need not name its engine
            return EmbeddingState(status, engine, self._queue.queued, self._reason)

    def submit(self, priority: Priority, texts: Sequence[str], request: EmbeddingRequest) -> None:
        """Queue ``texts``. Raises EmbeddingUnavailable at once while there is no hope, Overloaded when full."""
        with self._wake:
            self._refuse(priority)
            self._queue.put(priority, texts, request, retry_after_s=self._wait_s())
            depth = self._queue.queued
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="strongroom-embed", daemon=True)
                self._thread.start()
            self._wake.notify()
        self._observer.on_embedding_queue(depth)

    def drop(self, request: EmbeddingRequest) -> None:
        """Drop the request of a caller that was cancelled."""
        with self._wake:
            self._queue.drop(request)
            depth = self._queue.queued
        self._observer.on_embedding_queue(depth)

    def overdue(self) -> float:
        """Seconds until the model, if it stays silent, counts as hung. Zero: it does now; all waiters got an error."""
        with self._wake:
            if not self._is_hung():
                since = self._clock() if self._busy_since is None else self._busy_since
                return since + self._settings.timeout_s - self._clock()
            requests, reason = self._queue.drain(), self._reason
        self._tell(requests, reason or "the model is silent")
        return 0.0

    def close(self, ended: Callable[[], None]) -> threading.Thread | None:
        """Refuse new texts and fail those that wait.

        The thread, if there is one and it is not stuck, ends after its current call and then calls ``ended``.
        """
        with self._wake:
            self._closed = True
            requests = self._queue.drain()
            thread = None if self._is_hung() else self._thread
            self._ended.append(ended)
            self._wake.notify()
        self._tell(requests, "the server is stopping")
        return thread

    def unload(self) -> None:
        """Have the thread free the model's memory after its current slice; the next text loads it again."""
        with self._wake:
            self._unwanted = True
            self._wake.notify()

    def _is_hung(self) -> bool:
        """Whether the model counts as hung. Checked by each call: a caller may leave before the watch fires."""
        limit = self._settings.timeout_s
        if self._busy_since is not None and self._clock() - self._busy_since >= limit:
            self._hung, self._reason = True, f"the model has been silent for {limit:g} s"
        return self._hung

    def _is_recovering(self) -> bool:
        """Whether an endpoint failed and gave no answer since."""
        return self._settings.engine == "endpoint" and self._embedder is None and self._reason is not None

    def _refuse(self, priority: Priority) -> None:
        if self._closed:
            raise embedding_unavailable("the server is stopping")
        if self._is_hung():
            raise embedding_unavailable(self._reason or "the model is silent", retry_after_s=self._settings.timeout_s)
        left = self._retry_at - self._clock()
        if self._status == "failed" and left > 0:
            raise embedding_unavailable(self._reason or "the model failed", retry_after_s=left)
        if self._is_recovering() and priority is not Priority.IMPORT:
            # Whether it is back, imports find out: what hangs would cost each caller the whole time-out.
            raise embedding_unavailable(self._reason or "the endpoint failed", retry_after_s=self._pause)

    def _wait_s(self) -> float:
        return min(max(self._queue.queued / self._rate, 0.1), self._settings.timeout_s)

    # What follows runs in the thread.

    def _run(self) -> None:
        try:
            while self._wait():
                if self._unwanted:
                    self._unload()
                elif self._embedder or self._load():
                    self._serve()
        finally:
            self._leave()

    def _wait(self) -> bool:
        """Sleep until there is work; False when the service closes."""
        with self._wake:
            self._busy_since = None
            while not (self._closed or self._queue.queued or self._unwanted):
                self._wake.wait()
            if self._queue.queued and not self._closed:
                self._busy_since = self._clock()
            return not self._closed

    def _load(self) -> bool:
        with self._wake:
            self._status = "loading"
        try:
            if self._residents is not None:
                self._residents.admit(self)
            embedder = self._load_model()
            identity = embedder.identity
        except Exception as error:  # noqa: BLE001 - the thread's root: any failure means keyword search only
            if not isinstance(error, StrongroomError):
                _log.warning("the embedding model was not loaded", exc_info=True)
            self._fail(plain_reason(error))
            return False
        with self._wake:
            self._embedder, self._identity, self._status = embedder, identity, "ready"
            self._hung, self._reason = False, None
        return True

    def _unload(self) -> None:
        """Give the place in memory to another model."""
        self._discard()
        with self._wake:
            self._unwanted = False
            if self._status == "ready":
                self._status = "cold"

    def _serve(self) -> None:
        """Run one slice through the model."""
        embedder, identity = self._embedder, self._identity
        if embedder is None or identity is None:
            return
        with self._wake:
            items = self._queue.take()
            depth = self._queue.queued
        if not items:
            return
        self._observer.on_embedding_queue(depth)
        if self._residents is not None:
            self._residents.note_use(self)
        begun = self._clock()

        def call(texts: Sequence[str]) -> np.ndarray:
            with self._wake:
                self._busy_since = self._clock()
            return embedder.embed(texts)

        try:
            rows = embed_rows(call, [item.text for item in items], identity.width)
            sound = any(row is not None for row in rows) or embed_rows(call, _PROBE, identity.width)[0] is not None
        except EmbeddingUnavailable as down:
            self._fail(plain_reason(down))
            return
        self._observer.on_embedded(len(items), self._clock() - begun)
        with self._wake:
            if sound:
                self._recover(len(items), self._clock() - begun)
            requests = self._queue.finish(items, rows)
        _notify_callers(requests, None)
        if not sound:
            self._fail("the model fails on every text")

    def _recover(self, texts: int, seconds: float) -> None:
        """Record a call that succeeded: the model is healthy again."""
        self._hung, self._reason, self._pause, self._busy_since = False, None, _BACKOFF_S[0], None
        self._rate += 0.2 * (texts / max(seconds, 1e-6) - self._rate)

    def _fail(self, reason: str) -> None:
        """No model for now; a call after the pause tries again. Each reason is logged once, however often it comes."""
        self._discard()
        if reason != self._reason:
            _log.warning("there are no embeddings: %s", reason)
        with self._wake:
            self._status, self._reason, self._hung, self._busy_since = "failed", reason, False, None
            self._retry_at = self._clock() + self._pause
            self._pause = min(2 * self._pause, _BACKOFF_S[1])
            requests = self._queue.drain()
        self._tell(requests, reason)

    def _leave(self) -> None:
        """Clean up as the thread ends, closed or broken by a non-Exception. The next call starts another thread."""
        self._discard()
        with self._wake:
            self._thread, self._busy_since, self._hung = None, None, False
            self._status = "cold"
            requests, ended = self._queue.drain(), list(self._ended)
        self._tell(requests, "the model's thread ended")
        for tell in ended:
            with suppress(RuntimeError):  # that loop is closed
                tell()

    def _discard(self) -> None:
        """Drop the model. Not under the lock: what the library does here may take long."""
        embedder, self._embedder = self._embedder, None
        if embedder is not None:
            with suppress(Exception):  # it is given up either way
                embedder.close()
        if self._residents is not None:
            self._residents.leave(self)

    def _tell(self, requests: list[EmbeddingRequest], reason: str) -> None:
        self._observer.on_embedding_queue(0)
        _notify_callers(requests, reason)


def _notify_callers(requests: list[EmbeddingRequest], reason: str | None) -> None:
    """Wake the callers, all those of one event loop at once. A closed loop has nobody left to wake."""
    for loop in {request.loop for request in requests}:
        mine = [request for request in requests if request.loop is loop]
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, mine, reason)


def _resolve(requests: list[EmbeddingRequest], reason: str | None) -> None:
    for request in requests:
        if request.future.done():
            continue
        if reason is None:
            request.future.set_result(None)
        else:
            request.future.set_exception(embedding_unavailable(reason))

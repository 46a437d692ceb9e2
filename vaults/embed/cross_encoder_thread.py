"""The one thread that owns the cross-encoder: loads it on first need, scores, and may get stuck.

As with the embedding model, a stuck call cannot be ended: after ``timeout_s`` of silence new calls are refused at once,
and when it returns the thread goes on. A model that failed, or took longer than ``timeout_s`` for one call, is left
alone for ``PAUSE_S``: reranking is a luxury, and no search should pay for one that does not work. A slow load does not
count as a failure.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from vaults.embed.cross_encoder_backend import Scorer
from vaults.embed.state import EmbeddingState, EmbeddingStatus, plain_reason
from vaults.errors import EmbeddingUnavailable

_log = logging.getLogger(__name__)

PAUSE_S = 30.0

ScoringOutcome: TypeAlias = list[float] | str
"""Scores, or why there are none, in plain words."""


def cross_encoder_unavailable(reason: str, *, retry_after_s: float | None = None) -> EmbeddingUnavailable:
    """A new error for each waiter."""
    more = {} if retry_after_s is None else {"retry_after_s": round(retry_after_s, 3)}
    return EmbeddingUnavailable(f"Reranking is unavailable: {reason}.", hint="Search works without it.", **more)


@dataclass(frozen=True, eq=False, slots=True)
class ScoringJob:
    """One query and its texts. ``tell`` is called on ``loop``, at least once, with the outcome."""

    query: str
    texts: Sequence[str]
    loop: asyncio.AbstractEventLoop
    tell: Callable[[ScoringOutcome], None]


class CrossEncoderThread:
    """Thread-safe. Every public method returns at once; only the thread itself waits."""

    def __init__(self, load: Callable[[], Scorer], timeout_s: float, clock: Callable[[], float]) -> None:
        self._load_model, self._timeout_s, self._clock = load, timeout_s, clock
        self._wake = threading.Condition()
        # All below is changed under the condition's lock only.
        self._thread: threading.Thread | None = None
        self._jobs: deque[ScoringJob] = deque()
        self._running: ScoringJob | None = None
        self._busy_since: float | None = None
        self._model: Scorer | None = None
        self._identity: str | None = None
        self._status: EmbeddingStatus = "cold"
        self._reason: str | None = None
        self._retry_at = -math.inf
        self._typical_s = 0.0
        self._closed = False
        self._ended: list[Callable[[], None]] = []

    @property
    def identity(self) -> str | None:
        return self._identity

    def state(self) -> EmbeddingState:
        with self._wake:
            silent = self._is_hung()
            status, reason = ("hung", self._silence()) if silent else (self._status, self._reason)
            return EmbeddingState(status, "cross-encoder", len(self._jobs), reason)

    def submit(self, job: ScoringJob) -> None:
        """Queue a job. Raises EmbeddingUnavailable while there is no hope of an answer in time."""
        with self._wake:
            self._refuse()
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="strongroom-rerank", daemon=True)
                self._thread.start()
            self._wake.notify()

    def drop(self, job: ScoringJob) -> None:
        """Drop a job nobody waits for any more. One already begun is finished, and its scores are kept."""
        with self._wake, suppress(ValueError):
            self._jobs.remove(job)

    def close(self, ended: Callable[[], None]) -> threading.Thread | None:
        """Refuse new jobs and fail those that wait.

        The thread, if there is one and it is not stuck, ends after its current call and then calls ``ended``.
        """
        with self._wake:
            self._closed = True
            jobs = self._drain()
            thread = None if self._is_hung() else self._thread
            self._ended.append(ended)
            self._wake.notify()
        _notify(jobs, "the server is stopping")
        return thread

    def _is_hung(self) -> bool:
        return self._busy_since is not None and self._clock() - self._busy_since >= self._timeout_s

    def _silence(self) -> str:
        return f"the model has been silent for {self._timeout_s:g} s"

    def _refuse(self) -> None:
        if self._closed:
            raise cross_encoder_unavailable("the server is stopping")
        if self._is_hung():
            raise cross_encoder_unavailable(self._silence(), retry_after_s=self._timeout_s)
        left = self._retry_at - self._clock()
        if left > 0:
            raise cross_encoder_unavailable(self._reason or "the model failed", retry_after_s=left)
        wait_s = (len(self._jobs) + (self._running is not None)) * self._typical_s
        if wait_s > self._timeout_s:
            raise cross_encoder_unavailable("too many searches wait for the model", retry_after_s=wait_s)

    def _drain(self) -> list[ScoringJob]:
        jobs = [*self._jobs] if self._running is None else [self._running, *self._jobs]
        self._jobs.clear()
        return jobs

    # What follows runs in the thread.

    def _run(self) -> None:
        try:
            while (job := self._next()) is not None:
                model = self._model or self._load()
                if model is not None:
                    self._score(model, job)
        finally:
            self._leave()

    def _next(self) -> ScoringJob | None:
        """Sleep until there is work; None when the service closes."""
        with self._wake:
            self._running = self._busy_since = None
            while not self._closed and not self._jobs:
                self._wake.wait()
            if self._closed:
                return None
            self._running, self._busy_since = self._jobs.popleft(), self._clock()
            return self._running

    def _load(self) -> Scorer | None:
        with self._wake:
            self._status = "loading"
        try:
            model = self._load_model()
            identity = model.identity
        except Exception as error:  # noqa: BLE001 - the thread's root: any failure means no reranking, nothing else
            _log.warning("the reranking model was not loaded", exc_info=True)
            self._fail(plain_reason(error))
            return None
        with self._wake:
            self._model, self._identity, self._busy_since = model, identity, self._clock()
            self._status, self._reason = "ready", None
        return model

    def _score(self, model: Scorer, job: ScoringJob) -> None:
        begun = self._clock()
        try:
            scores = model.score(job.query, job.texts)
            if len(scores) != len(job.texts) or not all(map(math.isfinite, scores)):
                raise ValueError("not a finite score for each text")
        except Exception as error:  # noqa: BLE001 - whatever a model raises means the same: no scores
            # Its type only: the message may quote a query or a memory.
            _log.warning("the reranking model failed: %s", type(error).__name__)
            self._fail("the model fails")
            return
        took = self._clock() - begun
        with self._wake:
            self._running = self._busy_since = None
            self._typical_s += 0.3 * (took - self._typical_s)
            self._status, self._reason = "ready", None
        _notify([job], scores)
        if took >= self._timeout_s:
            self._rest(f"the model took longer than {self._timeout_s:g} s")

    def _fail(self, reason: str) -> None:
        """No model for now; the first call after the pause loads it again."""
        self._discard()
        self._rest(reason)

    def _rest(self, reason: str) -> None:
        with self._wake:
            self._status, self._reason = "failed", reason
            self._retry_at = self._clock() + PAUSE_S
            jobs = self._drain()
            self._running = self._busy_since = None
        _notify(jobs, reason)

    def _leave(self) -> None:
        """Clean up as the thread ends, closed or broken by a non-Exception. The next call starts another thread."""
        self._discard()
        with self._wake:
            self._thread, self._status = None, "cold"
            jobs, ended = self._drain(), list(self._ended)
            self._running = self._busy_since = None
        _notify(jobs, "the model's thread ended")
        for tell in ended:
            with suppress(RuntimeError):  # that loop is closed
                tell()

    def _discard(self) -> None:
        """Drop the model. Not under the lock: what the library does here may take long."""
        model, self._model = self._model, None
        if model is not None:
            with suppress(Exception):  # it is given up either way
                model.close()


def _notify(jobs: Sequence[ScoringJob], outcome: ScoringOutcome) -> None:
    for job in jobs:
        with suppress(RuntimeError):  # a closed loop has no waiters left
            job.loop.call_soon_threadsafe(job.tell, outcome)

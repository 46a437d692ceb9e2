"""The state the embedding service reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vaults.errors import EmbeddingUnavailable, StrongroomError

EmbeddingStatus = Literal["off", "cold", "loading", "ready", "failed", "hung"]


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """The state at one moment. ``reason`` is plain words for people, None while nothing is wrong."""

    status: EmbeddingStatus
    engine: str  # the setting until a model is loaded, then the engine that serves
    queued: int  # texts waiting, without those the model is reading now
    reason: str | None


def embedding_unavailable(reason: str, *, retry_after_s: float | None = None) -> EmbeddingUnavailable:
    """A new error for each waiter: an exception raised twice carries two tracebacks."""
    more = {} if retry_after_s is None else {"retry_after_s": round(retry_after_s, 3)}
    return EmbeddingUnavailable(f"Embeddings are unavailable: {reason}.", hint="Keyword search still works.", **more)


def plain_reason(error: BaseException) -> str:
    """Why a model did not load, without exception text: that may hold paths."""
    if isinstance(error, StrongroomError):
        return error.message.rstrip(".")
    if isinstance(error, ImportError):
        return f"the library {error.name} cannot be imported" if error.name else "a library cannot be imported"
    if isinstance(error, MemoryError):
        return "there is not enough memory for the model"
    return f"the model could not be loaded ({type(error).__name__})"

"""How storage reports upward without knowing who listens (``ops.metrics`` implements it)."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Each method is called from any thread, must be quick and must not raise. Times are in seconds."""

    def embedded(self, texts: int, seconds: float) -> None:
        """One batch went through the model."""

    def embedding_queue(self, depth: int) -> None:
        """Texts waiting for the model now."""

    def committed(self, writes: int, seconds: float) -> None:
        """One group commit made ``writes`` transactions durable."""

    def searched(self, stage: str, seconds: float) -> None:
        """One stage of a search: ``lexical``, ``embed``, ``dense``, ``rank``, ``rerank``, ``expand``, ``fetch``."""

    def open_vaults(self, count: int) -> None:
        """Vaults open in this process now."""

    def quarantined(self, count: int) -> None:
        """Vaults this process refuses to open now."""

    def index_drift(self, pending: int) -> None:
        """Passages still without a vector, over the open vaults."""

    def at_work(self, sessions: int, claims: int) -> None:
        """Active sessions and claimed resources, over the open vaults."""

    def healthy(self, score: float) -> None:
        """Share of recent calls that succeeded, in the open vault where it is lowest."""

    def held(self, memories: int, size: int) -> None:
        """Living memories, and bytes of databases, over the open vaults."""

    def events_lost(self, count: int) -> None:
        """``count`` calls could not be written to the activity log; the calls themselves were served."""


class NullObserver:
    """Ignores every report: for tests and one-off commands."""

    def embedded(self, texts: int, seconds: float) -> None: ...
    def embedding_queue(self, depth: int) -> None: ...
    def committed(self, writes: int, seconds: float) -> None: ...
    def searched(self, stage: str, seconds: float) -> None: ...
    def open_vaults(self, count: int) -> None: ...
    def quarantined(self, count: int) -> None: ...
    def index_drift(self, pending: int) -> None: ...
    def at_work(self, sessions: int, claims: int) -> None: ...
    def healthy(self, score: float) -> None: ...
    def held(self, memories: int, size: int) -> None: ...
    def events_lost(self, count: int) -> None: ...

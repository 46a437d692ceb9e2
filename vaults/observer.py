"""How storage reports upward without knowing who listens (``ops.metrics`` implements it)."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Each method is called from any thread, must be quick and must not raise. Times are in seconds."""

    def on_embedded(self, texts: int, seconds: float) -> None:
        """One batch went through the model."""

    def on_embedding_queue(self, depth: int) -> None:
        """Texts waiting for the model now."""

    def on_commit(self, writes: int, seconds: float) -> None:
        """One group commit made ``writes`` transactions durable."""

    def on_search_stage(self, stage: str, seconds: float) -> None:
        """One stage of a search: ``lexical``, ``embed``, ``dense``, ``rank``, ``rerank``, ``expand``, ``fetch``."""

    def on_open_vaults(self, count: int) -> None:
        """Vaults open in this process now."""

    def on_quarantined_vaults(self, count: int) -> None:
        """Vaults this process refuses to open now."""

    def on_missing_vectors(self, pending: int) -> None:
        """Passages still without a vector, over the open vaults."""

    def on_activity(self, sessions: int, claims: int) -> None:
        """Active sessions and claimed resources, over the open vaults."""

    def on_health(self, score: float) -> None:
        """Share of recent calls that succeeded, in the open vault where it is lowest."""

    def on_stored(self, memories: int, size: int) -> None:
        """Living memories, and bytes of databases, over the open vaults."""

    def on_filled(self, limits: int, share: float) -> None:
        """Bytes that the limits of the open vaults allow together, and the share taken of it in the fullest one."""

    def on_integrity(self, problems: int, age_s: float) -> None:
        """Content that does not match its hash, over the open vaults, and seconds since the last whole look at the one
        where that is longest ago."""

    def on_snapshot_refused(self, reason: str) -> None:
        """A saved vector index did not match its digest or its vault and is built anew; ``reason`` says which."""

    def on_evicted(self, kind: str, count: int) -> None:
        """``count`` items of a kind went to keep a limit."""

    def on_events_lost(self, count: int) -> None:
        """``count`` calls could not be written to the activity log; the calls themselves were served."""

    def on_background_defect(self, task: str) -> None:
        """A task that runs unasked failed with an exception nobody expected."""


class NullObserver:
    """Ignores every report: for tests and one-off commands."""

    def on_embedded(self, texts: int, seconds: float) -> None: ...
    def on_embedding_queue(self, depth: int) -> None: ...
    def on_commit(self, writes: int, seconds: float) -> None: ...
    def on_search_stage(self, stage: str, seconds: float) -> None: ...
    def on_open_vaults(self, count: int) -> None: ...
    def on_quarantined_vaults(self, count: int) -> None: ...
    def on_missing_vectors(self, pending: int) -> None: ...
    def on_activity(self, sessions: int, claims: int) -> None: ...
    def on_health(self, score: float) -> None: ...
    def on_stored(self, memories: int, size: int) -> None: ...
    def on_filled(self, limits: int, share: float) -> None: ...
    def on_integrity(self, problems: int, age_s: float) -> None: ...
    def on_snapshot_refused(self, reason: str) -> None: ...
    def on_evicted(self, kind: str, count: int) -> None: ...
    def on_events_lost(self, count: int) -> None: ...
    def on_background_defect(self, task: str) -> None: ...

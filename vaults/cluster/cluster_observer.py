"""How the cluster's part of storage reports upward without knowing who listens (``ops.cluster_metrics`` does)."""

from __future__ import annotations

from typing import Protocol


class ClusterObserver(Protocol):
    """Each method is called from any thread, must be quick and must not raise. Times are in seconds, sizes in bytes."""

    def on_beat(self, left_s: float) -> None:
        """A heartbeat was answered; the lease lasts for ``left_s`` from now."""

    def on_beat_failed(self) -> None:
        """A heartbeat was not answered."""

    def on_servers(self, serving: int) -> None:
        """Servers that serve, this one among them, as the last heartbeat saw them."""

    def on_removed(self) -> None:
        """Others took this server for dead: it comes back under another id."""

    def on_held(self, vaults: int) -> None:
        """Vaults that this server holds now."""

    def on_taken(self, seconds: float, *, restored: bool) -> None:
        """A vault was taken; ``restored``: from the database, not from files that were still there."""

    def on_handed_over(self) -> None:
        """A vault was given to another server, in order."""

    def on_vault_lost(self) -> None:
        """A vault was lost while it was held: an append failed, or another server has it."""

    def on_append(self, size: int, seconds: float) -> None:
        """The database holds one more entry of a log."""

    def on_rebased(self, size: int, seconds: float) -> None:
        """A vault has a new base."""


class NullClusterObserver:
    """Ignores every report."""

    def on_beat(self, left_s: float) -> None: ...
    def on_beat_failed(self) -> None: ...
    def on_servers(self, serving: int) -> None: ...
    def on_removed(self) -> None: ...
    def on_held(self, vaults: int) -> None: ...
    def on_taken(self, seconds: float, *, restored: bool) -> None: ...
    def on_handed_over(self) -> None: ...
    def on_vault_lost(self) -> None: ...
    def on_append(self, size: int, seconds: float) -> None: ...
    def on_rebased(self, size: int, seconds: float) -> None: ...

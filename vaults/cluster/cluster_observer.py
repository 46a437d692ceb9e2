"""How the cluster's part of storage reports upward without knowing who listens (``ops.cluster_metrics`` does)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

TakenFiles = Literal["restored", "standby", "kept"]
"""What a vault was taken with: what its log holds, a standby copy and the entries since, or what was still there."""


@dataclass(frozen=True, slots=True)
class StandbyState:
    """The copies a server keeps of vaults that others hold. ``oldest_at``: when the one that is most behind ended as
    its log did, in seconds of ``time.monotonic``; None without any."""

    copies: int
    size: int
    oldest_at: float | None


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

    def on_taken(self, seconds: float, files: TakenFiles) -> None:
        """A vault was taken, with these files."""

    def on_load(self, cpu: float, memory: float) -> None:
        """The shares of its cores and of its memory for vectors that this server uses, as it tells the others."""

    def on_moved(self) -> None:
        """A vault is to be another server's, as this one is busy."""

    def on_handed_over(self) -> None:
        """A vault was given to another server, in order."""

    def on_vault_lost(self) -> None:
        """A vault was lost while it was held: an append failed, or another server has it."""

    def on_append(self, size: int, seconds: float) -> None:
        """The database holds one more entry of a log."""

    def on_rebased(self, size: int, seconds: float) -> None:
        """A vault has a new base."""

    def on_standby(self, state: StandbyState) -> None:
        """The copies this server keeps of vaults that others hold."""


class NullClusterObserver:
    """Ignores every report."""

    def on_beat(self, left_s: float) -> None: ...
    def on_beat_failed(self) -> None: ...
    def on_servers(self, serving: int) -> None: ...
    def on_removed(self) -> None: ...
    def on_held(self, vaults: int) -> None: ...
    def on_taken(self, seconds: float, files: TakenFiles) -> None: ...
    def on_load(self, cpu: float, memory: float) -> None: ...
    def on_moved(self) -> None: ...
    def on_handed_over(self) -> None: ...
    def on_vault_lost(self) -> None: ...
    def on_append(self, size: int, seconds: float) -> None: ...
    def on_rebased(self, size: int, seconds: float) -> None: ...
    def on_standby(self, state: StandbyState) -> None: ...

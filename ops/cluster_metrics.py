"""Metrics of a server that is one of several. Registered there alone: on one machine nobody is shown rows of nothing.

Each says what this server did or sees; Prometheus adds them up. ``vaults/cluster`` reports through
``ClusterObserver`` and knows nothing of this.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, get_args

from prometheus_client import CollectorRegistry

from ops.metrics import CounterSpec, GaugeSpec, HistogramSpec

if TYPE_CHECKING:  # on one machine nothing of it is imported
    from vaults.cluster.cluster_observer import StandbyState, TakenFiles

ForwardOutcome = Literal["answered", "retried", "refused", "broken"]
"""Of one attempt: the answer was passed on; it was made again; no server was found in time; the other server went away,
and nobody knows what became of it. ``server.http`` counts them."""

APPEND_SECONDS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
TAKE_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

LEASE_LEFT = GaugeSpec(
    "strongroom_cluster_lease_left_seconds",
    "For how long this server may answer; 0 = not",
    mode="livemin",
)
BEATS_FAILED = CounterSpec("strongroom_cluster_beats_failed_total", "Heartbeats that PostgreSQL did not answer")
SERVING = GaugeSpec("strongroom_cluster_servers", "Servers that serve, as this one sees them", mode="livemin")
REMOVED = CounterSpec("strongroom_cluster_removals_total", "Times others took this server for dead")
HELD = GaugeSpec("strongroom_cluster_held_vaults", "Vaults that this server holds")
TAKE_TIME = HistogramSpec(
    "strongroom_cluster_take_seconds", "Time to take a vault, by the files it was taken with", TAKE_SECONDS, ("files",)
)
STANDBY = GaugeSpec("strongroom_cluster_standby_copies", "Copies of large vaults that other servers hold")
STANDBY_BYTES = GaugeSpec("strongroom_cluster_standby_bytes", "Bytes of these copies")
STANDBY_BEHIND = GaugeSpec(
    "strongroom_cluster_standby_behind_seconds", "Since the copy most behind was as its vault", mode="livemax"
)
LOAD = GaugeSpec(
    "strongroom_cluster_load",
    "Share of its cores, or of its memory for vectors, that this server tells the others it uses",
    ("resource",),
)
MOVED = CounterSpec("strongroom_cluster_moved_total", "Vaults given to servers with less to do, as this one was busy")
HANDED_OVER = CounterSpec("strongroom_cluster_handed_over_total", "Vaults given to other servers, in order")
VAULTS_LOST = CounterSpec("strongroom_cluster_vaults_lost_total", "Vaults lost while they were held")
APPEND_TIME = HistogramSpec("strongroom_cluster_append_seconds", "Time of one append to a log", APPEND_SECONDS)
APPENDED = CounterSpec("strongroom_cluster_append_bytes_total", "Bytes appended to logs")
REBASE_TIME = HistogramSpec("strongroom_cluster_rebase_seconds", "Time to make and upload a new base", TAKE_SECONDS)
REBASED = CounterSpec("strongroom_cluster_rebase_bytes_total", "Bytes of new bases")
FORWARDED = CounterSpec("strongroom_cluster_forwarded_total", "Requests passed on to other servers", ("outcome",))
FORWARD_TIME = HistogramSpec(
    "strongroom_cluster_forward_seconds", "Time that passing a request on added to its work", APPEND_SECONDS
)
NAME = GaugeSpec("strongroom_cluster_server_info", "Always 1; the label says what this server is called", ("server",))

CLUSTER_DECLARED: tuple[CounterSpec | GaugeSpec | HistogramSpec, ...] = (
    LEASE_LEFT,
    BEATS_FAILED,
    SERVING,
    REMOVED,
    HELD,
    TAKE_TIME,
    STANDBY,
    STANDBY_BYTES,
    STANDBY_BEHIND,
    LOAD,
    MOVED,
    HANDED_OVER,
    VAULTS_LOST,
    APPEND_TIME,
    APPENDED,
    REBASE_TIME,
    REBASED,
    FORWARDED,
    FORWARD_TIME,
    NAME,
)


class ClusterMetrics:
    """Implements ``vaults.cluster.cluster_observer.ClusterObserver``. Any thread; nothing here blocks or raises."""

    def __init__(self, registry: CollectorRegistry, server: str) -> None:
        self._lease_until = 0.0
        # Asked when it is scraped: a server whose heartbeats fail hears of nothing that would set it.
        LEASE_LEFT.register(registry).set_function(self._lease_left_s)
        self._beats_failed = BEATS_FAILED.register(registry)
        self._serving, self._removed, self._held = (
            SERVING.register(registry),
            REMOVED.register(registry),
            HELD.register(registry),
        )
        taken = TAKE_TIME.register(registry)
        files: tuple[TakenFiles, ...] = ("restored", "standby", "kept")
        self._taken = {each: taken.labels(each) for each in files}
        self._standby, self._standby_bytes = STANDBY.register(registry), STANDBY_BYTES.register(registry)
        self._oldest_standby_at: float | None = None
        STANDBY_BEHIND.register(registry).set_function(self._standby_behind_s)
        load = LOAD.register(registry)
        self._cpu, self._memory = load.labels("cpu"), load.labels("memory")
        self._moved = MOVED.register(registry)
        self._handed_over, self._lost = HANDED_OVER.register(registry), VAULTS_LOST.register(registry)
        self._append_time, self._appended = APPEND_TIME.register(registry), APPENDED.register(registry)
        self._rebase_time, self._rebased = REBASE_TIME.register(registry), REBASED.register(registry)
        forwarded, self._forward_time = FORWARDED.register(registry), FORWARD_TIME.register(registry)
        # All of them from the start: of a series that begins with its first failure no increase is seen.
        self._forwarded = {outcome: forwarded.labels(outcome) for outcome in get_args(ForwardOutcome)}
        NAME.register(registry).labels(server).set(1)

    def _lease_left_s(self) -> float:
        return max(0.0, self._lease_until - time.monotonic())

    def _standby_behind_s(self) -> float:
        oldest = self._oldest_standby_at
        return 0.0 if oldest is None else time.monotonic() - oldest

    def on_beat(self, left_s: float) -> None:
        self._lease_until = time.monotonic() + left_s

    def on_beat_failed(self) -> None:
        self._beats_failed.inc()

    def on_servers(self, serving: int) -> None:
        self._serving.set(serving)

    def on_removed(self) -> None:
        self._removed.inc()
        self._lease_until = 0.0

    def on_held(self, vaults: int) -> None:
        self._held.set(vaults)

    def on_taken(self, seconds: float, files: TakenFiles) -> None:
        self._taken[files].observe(seconds)

    def on_standby(self, state: StandbyState) -> None:
        self._standby.set(state.copies)
        self._standby_bytes.set(state.size)
        self._oldest_standby_at = state.oldest_at

    def on_load(self, cpu: float, memory: float) -> None:
        self._cpu.set(cpu)
        self._memory.set(memory)

    def on_moved(self) -> None:
        self._moved.inc()

    def on_handed_over(self) -> None:
        self._handed_over.inc()

    def on_vault_lost(self) -> None:
        self._lost.inc()

    def on_append(self, size: int, seconds: float) -> None:
        self._append_time.observe(seconds)
        self._appended.inc(size)

    def on_rebased(self, size: int, seconds: float) -> None:
        self._rebase_time.observe(seconds)
        self._rebased.inc(size)

    def on_forwarded(self, outcome: ForwardOutcome, added_s: float | None) -> None:
        """What became of a request on its way. ``added_s``: seconds the way took besides the work, where known."""
        self._forwarded[outcome].inc()
        if added_s is not None:
            self._forward_time.observe(added_s)

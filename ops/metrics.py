"""Every metric and every label, declared once; ``Metrics`` records them.

Label values come from closed sets (the tool registry, the error tree, fixed lists), so nothing callers send can add
series. There is no vault label: vaults are many, and whoever scrapes need not know their names. With several workers
each value lies in a file shared with the supervisor (``ops.worker_metrics``); ``mode`` says how gauges of several
processes become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from ops.refusals import REASONS, RefusalReason
from vaults.background_defects import TaskName
from vaults.errors import StrongroomError
from vaults.index.snapshot import InvalidReason
from vaults.storage_limits import KINDS as EVICTABLE

DiskName: TypeAlias = Literal["data", "backups"]
"""What lies on a disk whose room is told."""

OTHER = "other"
UNKNOWN_TOOL = "unknown"
SEARCH_STAGES = ("lexical", "embed", "dense", "rank", "rerank", "expand", "fetch")
CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
STAGE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
BACKUP_SECONDS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
ALERTED_OUTCOMES = ("internal", "storage_full")
"""Of which a single call is worth an alert."""
DRILL_OUTCOMES = ("failed", "no_backup")
"""Besides ``ok`` and the codes of errors."""
COUNTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)


@dataclass(frozen=True, slots=True)
class CounterSpec:
    name: str
    help: str
    labels: tuple[str, ...] = ()

    def register(self, registry: CollectorRegistry | None) -> Counter:
        return Counter(self.name, self.help, self.labels, registry=registry)


@dataclass(frozen=True, slots=True)
class GaugeSpec:
    """``mode`` says how the values of several workers become one."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    mode: Literal["livesum", "livemax", "livemin"] = "livesum"

    def register(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.help, self.labels, registry=registry, multiprocess_mode=self.mode)


@dataclass(frozen=True, slots=True)
class HistogramSpec:
    name: str
    help: str
    buckets: tuple[float, ...]
    labels: tuple[str, ...] = ()

    def register(self, registry: CollectorRegistry) -> Histogram:
        return Histogram(self.name, self.help, self.labels, registry=registry, buckets=self.buckets)


CALLS = CounterSpec("strongroom_calls_total", "Tool calls by how they ended", ("tool", "outcome"))
CALL_TIME = HistogramSpec("strongroom_call_seconds", "Time of a tool call in dispatch", CALL_SECONDS, ("tool",))
REFUSALS = CounterSpec("strongroom_auth_failures_total", "Requests turned away before a tool was reached", ("reason",))
EMBED_QUEUE = GaugeSpec("strongroom_embedding_queue_texts", "Texts waiting for the model")
EMBED_BATCH = HistogramSpec("strongroom_embedding_batch_texts", "Texts per model call", COUNTS)
EMBED_TIME = HistogramSpec("strongroom_embedding_seconds", "Time of one model call", STAGE_SECONDS)
COMMIT_SIZE = HistogramSpec("strongroom_commit_writes", "Transactions made durable by one group commit", COUNTS)
COMMIT_TIME = HistogramSpec("strongroom_commit_seconds", "Time of one group commit", STAGE_SECONDS)
SEARCH_TIME = HistogramSpec("strongroom_search_stage_seconds", "Time of one search stage", STAGE_SECONDS, ("stage",))
# Two workers with the same vault open both count its passages: the larger figure is nearer the truth than the sum.
DRIFT = GaugeSpec("strongroom_index_pending_passages", "Passages without a vector yet, in open vaults", mode="livemax")
OPEN = GaugeSpec("strongroom_open_vaults", "Vaults open, counted once per process that has one open")
QUARANTINED = GaugeSpec("strongroom_quarantined_vaults", "Vaults that are not opened because damaged", mode="livemax")
# As with passages: two workers with the same vault open count the same.
SESSIONS = GaugeSpec("strongroom_sessions_active", "Sessions somebody is in, in open vaults", mode="livemax")
CLAIMS = GaugeSpec("strongroom_claims", "Resources claimed by active sessions, in open vaults", mode="livemax")
HEALTH = GaugeSpec(
    "strongroom_health_score", "Share of the last 100 calls that went well, of the worst open vault", mode="livemin"
)
MEMORIES = GaugeSpec("strongroom_memories", "Living memories in open vaults", mode="livemax")
SIZE = GaugeSpec("strongroom_vault_bytes", "Bytes of the databases of open vaults", mode="livemax")
LIMIT = GaugeSpec("strongroom_vault_limit_bytes", "Bytes that the limits of open vaults allow", mode="livemax")
FILLED = GaugeSpec(
    "strongroom_vault_filled_ratio", "Share of its limit that the fullest open vault takes", mode="livemax"
)
PROBLEMS = GaugeSpec(
    "strongroom_integrity_problems", "Content in open vaults that does not match its hash", mode="livemax"
)
LOOKED = GaugeSpec(
    "strongroom_integrity_age_seconds",
    "Since the last whole look at the content of the open vault where that is longest ago",
    mode="livemax",
)
SNAPSHOTS = CounterSpec(
    "strongroom_index_snapshots_refused_total", "Saved vector indexes that were built anew", ("reason",)
)
EVICTED = CounterSpec("strongroom_evictions_total", "Items let go to keep a limit", ("kind",))
LOST = CounterSpec("strongroom_events_lost_total", "Calls that the activity log of their vault could not take")
# Not "job": Prometheus names by that what it scrapes.
DEFECTS = CounterSpec("strongroom_background_defects_total", "Runs of background tasks that a defect ended", ("task",))
AUDIT_FAILING = GaugeSpec(
    "strongroom_audit_failing",
    "Chains of the audit that could not be written: changes there are refused",
    mode="livemax",
)
LAG = HistogramSpec("strongroom_loop_lag_seconds", "How late the event loop came back", LAG_SECONDS)
DROPPED = CounterSpec("strongroom_log_lines_dropped_total", "Log lines that stderr could not take")
# Every worker reads the same table.
BACKUP_AGE = GaugeSpec(
    "strongroom_backup_age_seconds",
    "Time since the last good backup, of the vault where it is longest ago",
    mode="livemax",
)
BACKUP_INTERVAL = GaugeSpec(
    "strongroom_backup_interval_seconds", "Time between two backups of a vault (backup.every); 0 = off", mode="livemax"
)
BACKUP_SIZE = GaugeSpec("strongroom_backup_bytes", "Bytes of all vaults as they were last backed up", mode="livemax")
BACKUPS = CounterSpec("strongroom_backups_total", "Backups of vaults by how they ended", ("outcome",))
BACKUP_MOVED = CounterSpec("strongroom_backup_moved_bytes_total", "Bytes that backups wrote to their target")
BACKUP_TIME = HistogramSpec("strongroom_backup_seconds", "Time of one backup that went well", BACKUP_SECONDS)
DRILLS = CounterSpec("strongroom_drills_total", "Drills of backups by how they ended", ("outcome",))
DRILLS_FAILING = GaugeSpec("strongroom_drills_failing", "Vaults whose last drill did not pass", mode="livemax")
DRILL_AGE = GaugeSpec(
    "strongroom_drill_age_seconds",
    "Time since the last drill that passed, of the vault where it is longest ago",
    mode="livemax",
)
DRILL_INTERVAL = GaugeSpec(
    "strongroom_drill_interval_seconds",
    "Time between two drills of a vault (backup.drill_every); 0 = off",
    mode="livemax",
)
LOG_BEHIND = GaugeSpec(
    "strongroom_change_log_behind_seconds",
    "Commits that are not in the change log yet go back this far, in the open vault that is furthest behind",
    mode="livemax",
)
LOG_STORED = CounterSpec("strongroom_change_log_bytes_total", "Bytes that change logs wrote to their target")
LOG_GAPS = CounterSpec("strongroom_change_log_gaps_total", "Times a change log had to begin anew with a whole base")
# Every worker asks the same disks.
DISK_FREE = GaugeSpec(
    "strongroom_disk_free_bytes", "Bytes that can still be written to the disk of a folder", ("disk",), mode="livemin"
)
DISK_SIZE = GaugeSpec("strongroom_disk_size_bytes", "Bytes of the whole disk of a folder", ("disk",), mode="livemin")
CERTIFICATE_END = GaugeSpec(
    "strongroom_certificate_end_timestamp_seconds",
    "When the TLS certificate that new connections see ends, in seconds since 1970; 0 = no TLS here",
    mode="livemin",
)
BUILD = GaugeSpec("strongroom_build_info", "Always 1; the label says what runs", ("version",), mode="livemax")
RESTARTS = CounterSpec("strongroom_worker_restarts_total", "Workers that died and were replaced (--workers > 1)")

DECLARED: tuple[CounterSpec | GaugeSpec | HistogramSpec, ...] = (
    CALLS,
    CALL_TIME,
    REFUSALS,
    EMBED_QUEUE,
    EMBED_BATCH,
    EMBED_TIME,
    COMMIT_SIZE,
    COMMIT_TIME,
    SEARCH_TIME,
    DRIFT,
    OPEN,
    QUARANTINED,
    SESSIONS,
    CLAIMS,
    HEALTH,
    MEMORIES,
    SIZE,
    LIMIT,
    FILLED,
    PROBLEMS,
    LOOKED,
    SNAPSHOTS,
    EVICTED,
    LOST,
    DEFECTS,
    AUDIT_FAILING,
    LAG,
    DROPPED,
    BACKUP_AGE,
    BACKUP_INTERVAL,
    BACKUP_SIZE,
    BACKUPS,
    BACKUP_MOVED,
    BACKUP_TIME,
    DRILLS,
    DRILLS_FAILING,
    DRILL_AGE,
    DRILL_INTERVAL,
    LOG_BEHIND,
    LOG_STORED,
    LOG_GAPS,
    DISK_FREE,
    DISK_SIZE,
    CERTIFICATE_END,
    BUILD,
    RESTARTS,
)


def disable_created_series() -> None:
    """Disable a second series per counter and histogram that nobody reads; the library's switch is process-wide."""
    disable_created_metrics()  # type: ignore[no-untyped-call]


def outcome_labels() -> frozenset[str]:
    """``ok`` and every error code."""

    def codes(error: type[StrongroomError]) -> Iterator[str]:
        yield error.code
        for kind in error.__subclasses__():
            yield from codes(kind)

    return frozenset({"ok", *codes(StrongroomError)})


def _count_calls(registry: CollectorRegistry, tools: Iterable[str]) -> Counter:
    """From the start what alerts look for: of a series that begins with its first failure no increase is seen."""
    counter = CALLS.register(registry)
    for tool, outcome in product((*tools, UNKNOWN_TOOL), ALERTED_OUTCOMES):
        counter.labels(tool, outcome)
    return counter


class Metrics:
    """Records into one registry; implements ``vaults.observer.Observer``. Any thread; nothing here blocks or raises.

    ``tools`` are the registry's names; any other counts as ``unknown``. A tool call costs about 1 µs here, 3 µs where
    values are shared between workers.
    """

    def __init__(self, registry: CollectorRegistry, *, tools: Iterable[str], version: str) -> None:
        disable_created_series()
        self._tools = frozenset(tools)
        self._outcomes = outcome_labels()
        self._call_count = _count_calls(registry, self._tools)
        self._call_time = CALL_TIME.register(registry)
        self._calls: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        refused = REFUSALS.register(registry)
        self._refusals = {reason: refused.labels(reason) for reason in REASONS}
        staged = SEARCH_TIME.register(registry)
        self._stages = {stage: staged.labels(stage) for stage in (*SEARCH_STAGES, OTHER)}
        self._queue = EMBED_QUEUE.register(registry)
        self._batch, self._embed_time = EMBED_BATCH.register(registry), EMBED_TIME.register(registry)
        self._commit_size, self._commit_time = COMMIT_SIZE.register(registry), COMMIT_TIME.register(registry)
        self._drift, self._open, self._quarantined = (
            DRIFT.register(registry),
            OPEN.register(registry),
            QUARANTINED.register(registry),
        )
        self._sessions, self._claims = SESSIONS.register(registry), CLAIMS.register(registry)
        self._memories, self._size = MEMORIES.register(registry), SIZE.register(registry)
        self._limit, self._filled = LIMIT.register(registry), FILLED.register(registry)
        self._problems, self._looked = PROBLEMS.register(registry), LOOKED.register(registry)
        refused_files = SNAPSHOTS.register(registry)
        self._snapshots = {reason: refused_files.labels(reason) for reason in get_args(InvalidReason)}
        evicted = EVICTED.register(registry)
        self._evicted = {kind: evicted.labels(kind) for kind in EVICTABLE}
        self._health, self._lost = HEALTH.register(registry), LOST.register(registry)
        self._health.set(1)  # nothing was called yet, so nothing failed
        defects = DEFECTS.register(registry)
        # All of them from the start: of a series that begins with its first defect no increase is seen.
        self._defects = {task: defects.labels(task) for task in (*get_args(TaskName), OTHER)}
        self._audit_failing = AUDIT_FAILING.register(registry)
        self._lag, self._dropped = LAG.register(registry), DROPPED.register(registry)
        self._backup_age, self._backup_interval = BACKUP_AGE.register(registry), BACKUP_INTERVAL.register(registry)
        self._backup_size, backups = BACKUP_SIZE.register(registry), BACKUPS.register(registry)
        # All of them from the start: of a series that begins with its first failure no increase is seen.
        self._backups = {outcome: backups.labels(outcome) for outcome in self._outcomes}
        self._backup_moved, self._backup_time = BACKUP_MOVED.register(registry), BACKUP_TIME.register(registry)
        drills, self._drills_failing = DRILLS.register(registry), DRILLS_FAILING.register(registry)
        self._drills = {outcome: drills.labels(outcome) for outcome in (*DRILL_OUTCOMES, *self._outcomes)}
        self._drill_age, self._drill_interval = DRILL_AGE.register(registry), DRILL_INTERVAL.register(registry)
        self._log_behind, self._log_stored = LOG_BEHIND.register(registry), LOG_STORED.register(registry)
        self._log_gaps = LOG_GAPS.register(registry)
        self._disk_free, self._disk_size = DISK_FREE.register(registry), DISK_SIZE.register(registry)
        self._certificate_end = CERTIFICATE_END.register(registry)
        BUILD.register(registry).labels(version).set(1)

    def on_call(self, tool: str, outcome: str, seconds: float) -> None:
        """One tool call; ``outcome`` is ``ok`` or an error code."""
        known = self._calls.get((tool, outcome))
        count, time = known if known is not None else self._admit(tool, outcome)
        count.inc()
        time.observe(seconds)

    def _admit(self, tool: str, outcome: str) -> tuple[Counter, Histogram]:
        """The children of a pair seen for the first time. Only clamped pairs are kept: the table stays bounded."""
        tool = tool if tool in self._tools else UNKNOWN_TOOL
        outcome = outcome if outcome in self._outcomes else "internal"
        pair = self._call_count.labels(tool, outcome), self._call_time.labels(tool)
        return self._calls.setdefault((tool, outcome), pair)

    def on_refusal(self, reason: RefusalReason) -> None:
        """One request turned away before a tool was reached."""
        self._refusals[reason].inc()

    def on_loop_lag(self, seconds: float) -> None:
        """The event loop ran this late."""
        self._lag.observe(seconds)

    def on_audit_failing(self, chains: int) -> None:
        """So many chains of the audit could not be written."""
        self._audit_failing.set(chains)

    def on_disk(self, disk: DiskName, free: float, size: float) -> None:
        """Bytes free and in all of a disk; NaN where it does not say."""
        self._disk_free.labels(disk).set(free)
        self._disk_size.labels(disk).set(size)

    def on_certificate(self, ends: float) -> None:
        """New connections see a certificate that ends then, in seconds since 1970."""
        self._certificate_end.set(ends)

    def on_lines_dropped(self, count: int) -> None:
        """Log lines that stderr could not take: for ``Sink.on_drop``."""
        self._dropped.inc(count)

    def on_embedded(self, texts: int, seconds: float) -> None:
        self._batch.observe(texts)
        self._embed_time.observe(seconds)

    def on_embedding_queue(self, depth: int) -> None:
        self._queue.set(depth)

    def on_commit(self, writes: int, seconds: float) -> None:
        self._commit_size.observe(writes)
        self._commit_time.observe(seconds)

    def on_search_stage(self, stage: str, seconds: float) -> None:
        self._stages.get(stage, self._stages[OTHER]).observe(seconds)

    def on_open_vaults(self, count: int) -> None:
        self._open.set(count)

    def on_quarantined_vaults(self, count: int) -> None:
        self._quarantined.set(count)

    def on_missing_vectors(self, pending: int) -> None:
        self._drift.set(pending)

    def on_activity(self, sessions: int, claims: int) -> None:
        self._sessions.set(sessions)
        self._claims.set(claims)

    def on_health(self, score: float) -> None:
        self._health.set(score)

    def on_stored(self, memories: int, size: int) -> None:
        self._memories.set(memories)
        self._size.set(size)

    def on_filled(self, limits: int, share: float) -> None:
        self._limit.set(limits)
        self._filled.set(share)

    def on_integrity(self, problems: int, age_s: float) -> None:
        self._problems.set(problems)
        self._looked.set(age_s)

    def on_snapshot_refused(self, reason: str) -> None:
        if reason in self._snapshots:
            self._snapshots[reason].inc()

    def on_evicted(self, kind: str, count: int) -> None:
        if kind in self._evicted:
            self._evicted[kind].inc(count)

    def on_events_lost(self, count: int) -> None:
        self._lost.inc(count)

    def on_background_defect(self, task: str) -> None:
        self._defects.get(task, self._defects[OTHER]).inc()

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None:
        """A backup of a vault ended; ``outcome`` is ``ok`` or an error code."""
        self._backups[outcome if outcome in self._outcomes else "internal"].inc()
        self._backup_moved.inc(moved)
        if outcome == "ok":
            self._backup_time.observe(seconds)

    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None:
        """Age of the oldest last good backup, what it is held against, and bytes of all as last backed up."""
        self._backup_age.set(age_s)
        self._backup_interval.set(interval_s)
        self._backup_size.set(size)

    def on_drill(self, outcome: str) -> None:
        """A drill ended: ``ok``, ``failed``, ``no_backup``, or the code of what kept it from being held."""
        self._drills[outcome if outcome in self._drills else "internal"].inc()

    def on_drills(self, failing: int, age_s: float, interval_s: float) -> None:
        """Vaults whose last drill did not pass, age of the oldest last good one, and what it is held against."""
        self._drills_failing.set(failing)
        self._drill_age.set(age_s)
        self._drill_interval.set(interval_s)

    def on_change_log(self, behind_s: float, stored: int, gaps: int) -> None:
        """How far the log is behind that is furthest; bytes stored and logs begun anew since the last time."""
        self._log_behind.set(behind_s)
        self._log_stored.inc(stored)
        self._log_gaps.inc(gaps)

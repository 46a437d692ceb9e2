"""Closed label sets, the figures themselves, and what one record costs.

Covers ops.worker_metrics.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from ops.cluster_metrics import CLUSTER_DECLARED
from ops.metrics import BUILD, DECLARED, RESTARTS, Metrics, outcome_labels
from tests.work import PATIENCE_S

ROOT = Path(__file__).parents[2]


def recorder():
    registry = CollectorRegistry()
    return Metrics(registry, tools=["recall", "remember"], version="1.2.3"), registry


def series(registry):
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_bogus_names_leave_the_number_of_series_flat():
    metrics, registry = recorder()
    for name in ("recall", "bogus"):
        metrics.on_call(name, "ok", 0.1)
    metrics.on_search_stage("bogus", 0.1)
    before = len(series(registry))
    for n in range(10_000):
        metrics.on_call(f"tool-{n}\n", "ok", 0.1)
        metrics.on_search_stage(f"stage-{n}", 0.1)
    assert len(series(registry)) == before
    assert registry.get_sample_value("strongroom_calls_total", {"tool": "unknown", "outcome": "ok"}) == 10_001
    metrics.on_call("recall", "made_up", 0.1)
    assert registry.get_sample_value("strongroom_calls_total", {"tool": "recall", "outcome": "internal"}) == 1


def test_every_error_code_is_an_outcome():
    assert {"ok", "invalid_argument", "vault_quarantined", "internal", "cancelled"} <= outcome_labels()


def test_what_storage_reports_can_be_read():
    metrics, registry = recorder()
    metrics.on_embedded(8, 0.02)
    metrics.on_embedding_queue(5)
    metrics.on_commit(3, 0.004)
    metrics.on_search_stage("dense", 0.003)
    metrics.on_open_vaults(2)
    metrics.on_quarantined_vaults(1)
    metrics.on_missing_vectors(7)
    metrics.on_activity(sessions=2, claims=4)
    metrics.on_health(0.9)
    metrics.on_stored(memories=30, size=4096)
    metrics.on_integrity(problems=2, age_s=86400)
    metrics.on_snapshot_refused("checksum")
    metrics.on_events_lost(3)
    metrics.on_loop_lag(0.004)
    metrics.on_lines_dropped(2)
    metrics.on_disk("data", free=300, size=1000)
    metrics.on_certificate(1_800_000_000)
    metrics.on_background_defect("retention")
    metrics.on_background_defect("bogus")
    figures = {
        "strongroom_embedding_batch_texts_sum": 8,
        "strongroom_embedding_queue_texts": 5,
        "strongroom_commit_writes_sum": 3,
        "strongroom_open_vaults": 2,
        "strongroom_quarantined_vaults": 1,
        "strongroom_index_pending_passages": 7,
        "strongroom_sessions_active": 2,
        "strongroom_claims": 4,
        "strongroom_health_score": 0.9,
        "strongroom_memories": 30,
        "strongroom_vault_bytes": 4096,
        "strongroom_integrity_problems": 2,
        "strongroom_integrity_age_seconds": 86400,
        "strongroom_events_lost_total": 3,
        "strongroom_loop_lag_seconds_count": 1,
        "strongroom_log_lines_dropped_total": 2,
        "strongroom_certificate_end_timestamp_seconds": 1_800_000_000,
    }
    assert {name: registry.get_sample_value(name) for name in figures} == figures
    defects = [
        registry.get_sample_value("strongroom_background_defects_total", {"task": task})
        for task in ("retention", "other", "drills")
    ]
    assert defects == [1, 1, 0]
    disk = [registry.get_sample_value(f"strongroom_disk_{what}_bytes", {"disk": "data"}) for what in ("free", "size")]
    assert disk == [300, 1000]
    assert registry.get_sample_value("strongroom_search_stage_seconds_count", {"stage": "dense"}) == 1
    assert registry.get_sample_value(BUILD.name, {"version": "1.2.3"}) == 1


def test_before_the_first_call_nothing_has_failed():
    _, registry = recorder()
    assert registry.get_sample_value("strongroom_health_score") == 1


def test_what_a_single_call_raises_an_alert_by_counts_from_zero():
    _, registry = recorder()
    for tool in ("recall", "remember", "unknown"):
        for outcome in ("internal", "storage_full"):
            assert registry.get_sample_value("strongroom_calls_total", {"tool": tool, "outcome": outcome}) == 0


def test_a_disk_that_was_not_read_yet_is_not_said_to_be_full():
    _, registry = recorder()
    assert [line for line in series(registry) if line.startswith("strongroom_disk")] == []


def test_no_metric_can_name_a_vault_or_a_caller():
    assert {label for metric in DECLARED for label in metric.labels} == {
        "tool",
        "outcome",
        "reason",
        "stage",
        "kind",
        "task",
        "disk",
        "version",
    }


def test_all_declared_metrics_are_exposed():
    _, registry = recorder()
    exposed = generate_latest(registry).decode()
    missing = {m.name for m in DECLARED if f"# HELP {m.name} " not in exposed}
    assert missing == {RESTARTS.name}  # the supervisor's


def test_two_servers_in_one_process_do_not_share():
    (one, first), (_, second) = recorder(), recorder()
    one.on_open_vaults(4)
    assert first.get_sample_value("strongroom_open_vaults") == 4
    assert second.get_sample_value("strongroom_open_vaults") == 0


WORKER = """
import sys
from pathlib import Path
from prometheus_client import CollectorRegistry
from ops.metrics import Metrics
from ops.worker_metrics import map_metrics_to_files
map_metrics_to_files(Path(sys.argv[1]), int(sys.argv[2]))
metrics = Metrics(CollectorRegistry(), tools=["recall"], version="1")
metrics.on_call("recall", "ok", 0.01)
metrics.on_open_vaults(3)
metrics.on_missing_vectors(int(sys.argv[2]) + 5)
metrics.on_health(1 - int(sys.argv[2]) / 4)
metrics.on_stored(int(sys.argv[2]) + 10, 1)
"""


def test_seats_add_up_and_a_replaced_worker_goes_on_counting(tmp_path):
    from ops.worker_metrics import forget_gauges, merged_registry

    def work(seat):
        subprocess.run(
            [sys.executable, "-c", WORKER, str(tmp_path), str(seat)], check=True, cwd=ROOT, timeout=PATIENCE_S
        )

    def value(name, **labels):
        return registry.get_sample_value(name, labels)

    registry = merged_registry(tmp_path, list)
    work(0)
    work(1)
    assert value("strongroom_calls_total", tool="recall", outcome="ok") == 2
    assert value("strongroom_call_seconds_count", tool="recall") == 2
    assert value("strongroom_open_vaults") == 6
    assert value("strongroom_index_pending_passages") == 6
    assert value("strongroom_health_score") == 0.75
    assert value("strongroom_memories") == 11
    files = len(list(tmp_path.iterdir()))
    forget_gauges(tmp_path, 1)
    assert value("strongroom_open_vaults") == 3
    assert value("strongroom_calls_total", tool="recall", outcome="ok") == 2
    work(1)
    assert value("strongroom_calls_total", tool="recall", outcome="ok") == 3
    assert value("strongroom_open_vaults") == 6
    assert len(list(tmp_path.iterdir())) == files


def test_the_runbook_names_exactly_the_metrics_there_are():
    text = (ROOT / "ops" / "README.md").read_text()
    assert set(re.findall(r"^\| `(strongroom_\w+)`", text, re.MULTILINE)) == {
        metric.name for metric in (*DECLARED, *CLUSTER_DECLARED)
    }

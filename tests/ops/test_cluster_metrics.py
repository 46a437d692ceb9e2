"""What a server of several tells Prometheus. Covers vaults.cluster.cluster_observer."""

from __future__ import annotations

import time

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ops.cluster_metrics import CLUSTER_DECLARED, ClusterMetrics
from ops.metrics import DECLARED
from vaults.cluster.cluster_observer import ClusterObserver, NullClusterObserver, StandbyState


def recorder() -> tuple[ClusterMetrics, CollectorRegistry]:
    registry = CollectorRegistry()
    return ClusterMetrics(registry, "alpha"), registry


def reports() -> list[str]:
    return sorted(name for name in vars(ClusterObserver) if name.startswith("on_"))


def test_every_report_of_storage_is_recorded_and_can_be_ignored() -> None:
    observers: list[ClusterObserver] = [recorder()[0], NullClusterObserver()]
    for observer in observers:
        assert [name for name in reports() if not callable(getattr(observer, name, None))] == []


def test_what_storage_says_of_a_cluster_is_counted() -> None:
    metrics, registry = recorder()
    metrics.on_beat(2.5)
    metrics.on_beat_failed()
    metrics.on_servers(3)
    metrics.on_held(7)
    metrics.on_taken(0.3, "restored")
    metrics.on_taken(0.01, "kept")
    metrics.on_standby(StandbyState(2, 70_000_000, time.monotonic() - 5))
    metrics.on_load(0.75, 0.5)
    metrics.on_moved()
    metrics.on_handed_over()
    metrics.on_vault_lost()
    metrics.on_append(7_000, 0.002)
    metrics.on_rebased(3_000_000, 0.4)
    metrics.on_forwarded("answered", 0.001)
    metrics.on_forwarded("broken", None)
    value = registry.get_sample_value
    assert 0 < (value("strongroom_cluster_lease_left_seconds") or 0) <= 2.5
    assert value("strongroom_cluster_beats_failed_total") == 1
    assert value("strongroom_cluster_servers") == 3
    assert value("strongroom_cluster_held_vaults") == 7
    assert value("strongroom_cluster_take_seconds_count", {"files": "restored"}) == 1
    assert value("strongroom_cluster_take_seconds_count", {"files": "kept"}) == 1
    assert value("strongroom_cluster_take_seconds_count", {"files": "standby"}) == 0
    assert value("strongroom_cluster_standby_copies") == 2
    assert value("strongroom_cluster_standby_bytes") == 70_000_000
    assert (value("strongroom_cluster_standby_behind_seconds") or 0) >= 5
    assert value("strongroom_cluster_load", {"resource": "cpu"}) == 0.75
    assert value("strongroom_cluster_load", {"resource": "memory"}) == 0.5
    assert value("strongroom_cluster_moved_total") == 1
    assert value("strongroom_cluster_handed_over_total") == 1
    assert value("strongroom_cluster_vaults_lost_total") == 1
    assert value("strongroom_cluster_append_bytes_total") == 7_000
    assert value("strongroom_cluster_append_seconds_sum") == 0.002
    assert value("strongroom_cluster_rebase_bytes_total") == 3_000_000
    assert value("strongroom_cluster_forwarded_total", {"outcome": "broken"}) == 1
    assert value("strongroom_cluster_forward_seconds_count") == 1, "a broken one says nothing of how quick answers are"
    assert value("strongroom_cluster_server_info", {"server": "alpha"}) == 1


def test_a_server_that_was_removed_has_no_lease() -> None:
    metrics, registry = recorder()
    metrics.on_beat(2.5)
    metrics.on_removed()
    assert registry.get_sample_value("strongroom_cluster_lease_left_seconds") == 0
    assert registry.get_sample_value("strongroom_cluster_removals_total") == 1


def test_a_server_that_hears_no_more_of_its_lease_has_none_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, registry = recorder()
    began = time.monotonic()
    metrics.on_beat(3.0)
    monkeypatch.setattr("ops.cluster_metrics.time.monotonic", lambda: began + 4)
    metrics.on_beat_failed()
    assert registry.get_sample_value("strongroom_cluster_lease_left_seconds") == 0


def test_who_keeps_no_standby_copies_is_behind_with_none() -> None:
    metrics, registry = recorder()
    metrics.on_standby(StandbyState(1, 1, time.monotonic() - 5))
    metrics.on_standby(StandbyState(0, 0, None))
    assert registry.get_sample_value("strongroom_cluster_standby_behind_seconds") == 0


def test_failures_are_counted_from_the_start() -> None:
    _, registry = recorder()
    for outcome in ("answered", "retried", "refused", "broken"):
        assert registry.get_sample_value("strongroom_cluster_forwarded_total", {"outcome": outcome}) == 0


def test_all_declared_metrics_are_exposed_and_none_twice() -> None:
    _, registry = recorder()
    exposed = generate_latest(registry).decode()
    assert [metric.name for metric in CLUSTER_DECLARED if f"# HELP {metric.name} " not in exposed] == []
    assert {metric.name for metric in CLUSTER_DECLARED} & {metric.name for metric in DECLARED} == set()


def test_no_label_can_name_a_vault_or_a_caller() -> None:
    assert {label for metric in CLUSTER_DECLARED for label in metric.labels} == {
        "files",
        "outcome",
        "resource",
        "server",
    }

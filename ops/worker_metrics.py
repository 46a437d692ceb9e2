"""Metrics of several workers as one: files mapped by each worker, summed by the supervisor.

Each worker has a *seat* (0, 1, …), which passes to its replacement when it dies. Files are named by seat, not by
process id, so counters go on where the dead worker left them and the number of files never grows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from ops.metrics import disable_created_series

_SUMMED = frozenset(
    {"process_virtual_memory_bytes", "process_resident_memory_bytes", "process_cpu_seconds", "process_open_fds"}
)


def map_metrics_to_files(directory: Path, seat: int) -> None:
    """Keep this process's metrics in ``directory``. Call it once per process, before the first metric is made."""
    # The library finds the directory only by this variable. We only set it, for this process alone; settings still
    # come from server.settings.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)  # noqa: TID251
    values.ValueClass = values.MultiProcessValue(lambda: seat)  # type: ignore[no-untyped-call]


def forget_gauges(directory: Path, seat: int) -> None:
    """Drop the values of a dead worker's gauges; its counters stay."""
    mark_process_dead(seat, str(directory))  # type: ignore[no-untyped-call]


def merged_registry(directory: Path, pids: Callable[[], Iterable[int]]) -> CollectorRegistry:
    """A registry of all seats' files, and the combined ``process_*`` figures of ``pids``."""
    disable_created_series()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call]
    registry.register(_ProcessMetrics(pids))
    return registry


class _ProcessMetrics(Collector):
    """``process_*`` of several processes: memory, CPU and descriptors summed, of limits and start times the least."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids

    def collect(self) -> Iterator[Metric]:
        families: dict[str, list[Metric]] = {}
        for pid in self._pids():
            for family in ProcessCollector(pid=_returning(pid), registry=None).collect():
                families.setdefault(family.name, []).append(family)
        for name, found in families.items():
            first = found[0]
            figures = [family.samples[0].value for family in found]
            first.samples[0] = first.samples[0]._replace(value=sum(figures) if name in _SUMMED else min(figures))
            yield first


def _returning(pid: int) -> Callable[[], Any]:
    return lambda: pid

"""Reading processes and samples: processor time, memory, quantiles."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

MIB = 1024 * 1024
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far, all its threads, also those that ended: to the nanosecond from its clock,
    where the kernel lets us read it, else to a hundredth from ``/proc``."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2) / 1e9  # what clock_getcpuclockid(3) computes
    except OSError:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, file mappings that are in memory included."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)


def quantile(values: Sequence[float], share: float) -> float:
    """The nearest-rank quantile: the smallest value with ``share`` of all at or below it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def p50(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def p99(values: Sequence[float]) -> float:
    """99 of 100 are at or below it."""
    return quantile(values, 0.99)


def to_ms(seconds: float) -> str:
    """For raw columns."""
    return f"{seconds * 1000:.3g} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


def blocks(count: int, size: int) -> list[range]:
    """``range(count)`` in runs of ``size``: two sides that take turns by blocks keep their caches warm and share
    whatever else the machine does."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]

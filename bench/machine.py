"""Where the figures were taken."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("mcp", "starlette", "uvicorn", "onnxruntime", "faiss-cpu", "pydantic")


def describe_machine() -> dict[str, Any]:
    """Processor, memory, versions; nothing that names the machine."""
    from server.version import commit, version
    from vaults.db.engine import sqlite

    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite.sqlite_version,
        "strongroom": version(),
        "commit": commit(),
        **{name: metadata.version(name) for name in PACKAGES},
    }


def load_average() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def one_line(about: dict[str, Any]) -> str:
    """For the foot of the table."""
    versions = ", ".join(f"{name} {about[name]}" for name in PACKAGES)
    return (
        f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, {about['system']},"
        f" Python {about['python']}, SQLite {about['sqlite']}, {versions}"
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

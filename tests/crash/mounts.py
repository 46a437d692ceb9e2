"""Running something where a small disk is mounted, for nobody else to see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run(["unshare", "-Urm", "true"], check=False, capture_output=True).returncode


mounting = pytest.mark.skipif(not _may_mount(), reason="this system lets nobody mount for himself")


def run_on_small_disk(folder: Path, *steps: str, size: str = "12m") -> list[dict[str, Any]]:
    """Run shell commands where a small disk is mounted at ``folder``; their JSON lines."""
    folder.mkdir()
    script = " && ".join([f"mount -t tmpfs -o size={size} small {folder}", *steps])
    command = ["unshare", "-Urm", "sh", "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]

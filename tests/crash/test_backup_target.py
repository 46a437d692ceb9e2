"""Targets of backups that are too small, or have become read-only: real disks, mounted for the test alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.crash.mounts import mounting, run_on_small_disk

pytestmark = [pytest.mark.crash, mounting]
RUN = f"{sys.executable} -m tests.crash.small_target"


def test_a_target_that_is_full_or_read_only_keeps_the_backups_it_has(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    to = data / "to"
    first, full, locked = run_on_small_disk(
        to,
        f"{RUN} {data} 2>/dev/null | grep '^{{'",
        f"mount -o remount,ro {to}",
        f"{RUN} {data} once | grep '^{{'",
        size="6m",
    )
    assert first == {"outcome": "ok", "there": 1, "whole": 1, "partial": 0}
    assert full == {"outcome": "storage_full", "there": 1, "whole": 1, "partial": 0}
    assert locked == {"outcome": "read_only", "there": 1, "whole": 1, "partial": 0}

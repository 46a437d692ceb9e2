"""Servers whose clocks are off by up to an hour, and are put while they run, among killed and stopped ones.

``make cluster``. Covers tests.cluster.wrong_clocks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.grown_sets import check_grown, summary
from tests.cluster.postgres_server import running_postgres
from tests.cluster.tool_run import ToolRun
from tests.cluster.wrong_clocks import build_clock, put_clock
from tests.server.cli import command

pytestmark = pytest.mark.cluster

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "60"))
SEED = int(os.environ.get("CLUSTER_SEED", "1"))
WEIGHTS = {"clock": 60, "SIGKILL": 15, "SIGSTOP": 25}
LOOKS = "import time; print(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))"


async def test_wrong_clocks_lose_nothing_and_show_nothing_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(command.ENVIRONMENT, "LD_PRELOAD", str(build_clock(tmp_path)))
    put_clock(tmp_path / "operator", -3 * 3600)  # tokens that begin later than it is are refused, by name
    for number, seconds in enumerate((-3600, 0, 3600)):
        put_clock(tmp_path / f"server-{number}", seconds)
    with running_postgres() as postgres:
        run = ToolRun(postgres, tmp_path, 6, max(6, FAULTS // 6), SEED, WEIGHTS)
        last = await run.go()
    violations = check_grown(run.operations, last)
    refused = {each.said for each in run.operations if each.outcome == "refused"}
    with capsys.disabled():
        print(f"\n{run.injected.total()} faults: {dict(run.injected.most_common())}")
        print(summary(run.operations, violations), *sorted(refused)[:5], sep="\n")
    assert violations == []
    assert any(each.outcome == "ok" and each.added is not None for each in run.operations)


def test_only_the_time_of_day_is_another(tmp_path: Path) -> None:
    put_clock(tmp_path / "data", 3600)
    environment = {"LD_PRELOAD": str(build_clock(tmp_path)), "STRONGROOM_DATA": str(tmp_path / "data")}
    wrong, right = (
        [float(each) for each in subprocess.check_output([sys.executable, "-c", LOOKS], env=env, text=True).split()]
        for env in (environment, {})
    )
    assert 3000 < wrong[0] - right[0] < 4000
    assert abs(wrong[1] - right[1]) < 600
    assert abs(wrong[2] - right[2]) < 600

"""Servers are killed, stopped past their lease and cut off at random; nothing acknowledged is lost, no log forks,
nobody is told the past.

``make cluster``; ``make cluster FAULTS=1000 VAULTS=300`` for all of it. Prints what was done, and the verdict.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.cluster_run import ClusterRun
from tests.cluster.history_checker import check
from tests.cluster.postgres_server import running_postgres

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "60"))
VAULTS = int(os.environ.get("CLUSTER_VAULTS", "30"))
SEED = int(os.environ.get("CLUSTER_SEED", "1"))


@pytest.mark.cluster
async def test_no_fault_loses_forks_or_tells_the_past(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_postgres() as postgres:
        run = ClusterRun(postgres, tmp_path, VAULTS, FAULTS, SEED)
        history = await run.go()
    verdict, said = check(history), Counter(each.said for each in history.operations if each.said)
    with capsys.disabled():
        print(
            f"\n{sum(run.injected.values())} faults: {dict(run.injected.most_common())}; {run.rebased} vaults rebased"
        )
        print(verdict, *(f"{times:,} times: {words}" for words, times in said.most_common(5)), sep="\n")
    assert verdict.violations == []
    assert verdict.counts.get("writes ok", 0) > 0
    assert verdict.counts["take-overs"] > VAULTS

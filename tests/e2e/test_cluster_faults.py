"""A few faults of what ``make cluster`` has hundreds of: the servers are programs of their own, PostgreSQL is real."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.cluster_run import ClusterRun
from tests.cluster.history_checker import check
from tests.cluster.postgres_server import running_postgres

FAULTS, VAULTS, SEED = 15, 8, 5


async def test_a_few_faults_lose_nothing_and_show_nothing_old(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        verdict = check(await ClusterRun(postgres, tmp_path, VAULTS, FAULTS, SEED).go())
    assert verdict.violations == [], str(verdict)
    assert verdict.counts.get("writes ok", 0) > 0
    assert verdict.counts.get("reads ok", 0) > 0

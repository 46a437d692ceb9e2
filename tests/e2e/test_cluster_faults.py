"""A few faults of what ``make cluster`` has hundreds of: the servers are programs of their own, PostgreSQL is real."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.cluster_run import ClusterRun
from tests.cluster.grown_sets import check_grown, summary
from tests.cluster.history_checker import check
from tests.cluster.postgres_pair import running_pair
from tests.cluster.postgres_server import running_postgres
from tests.cluster.tool_run import ToolRun

FAULTS, VAULTS, SEED = 15, 8, 5


async def test_a_few_faults_lose_nothing_and_show_nothing_old(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        verdict = check(await ClusterRun(postgres, tmp_path, VAULTS, FAULTS, SEED).go())
    assert verdict.violations == [], str(verdict)
    assert verdict.counts.get("writes ok", 0) > 0
    assert verdict.counts.get("reads ok", 0) > 0


async def test_a_few_fail_overs_of_postgresql_lose_nothing_and_show_nothing_old(tmp_path: Path) -> None:
    weights = {"PostgreSQL restart": 2, "SIGKILL": 1, "SIGSTOP": 1}
    with running_pair() as pair:
        verdict = check(await ClusterRun(pair, tmp_path, VAULTS, FAULTS // 2, SEED, weights).go())
    assert pair.fail_overs
    assert verdict.violations == [], str(verdict)
    assert verdict.counts.get("writes ok", 0) > 0


async def test_callers_of_three_real_servers_lose_nothing(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        run = ToolRun(postgres, tmp_path, VAULTS, FAULTS // 3, SEED)
        last = await run.go()
    violations = check_grown(run.operations, last)
    assert violations == [], summary(run.operations, violations)
    assert any(each.outcome == "ok" and each.added is not None for each in run.operations)

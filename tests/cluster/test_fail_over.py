"""PostgreSQL's primary is killed under load and its standby promoted, again and again: servers go on with an address of
two hosts, and nothing that was acknowledged is lost.

``make cluster``; as many fail-overs as ``FAULTS`` allows.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cluster.cluster_run import ClusterRun
from tests.cluster.history import History
from tests.cluster.history_checker import check
from tests.cluster.postgres_pair import FailOver, running_pair

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "60"))
VAULTS = int(os.environ.get("CLUSTER_VAULTS", "30"))
SEED = int(os.environ.get("CLUSTER_SEED", "1"))
WEIGHTS = {"PostgreSQL restart": 50, "SIGKILL": 10, "SIGSTOP": 20, "cut": 5, "lost answers": 10, "refuse": 5}


@pytest.mark.cluster
async def test_no_fail_over_loses_what_was_acknowledged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_pair() as pair:
        run = ClusterRun(pair, tmp_path, VAULTS, max(20, FAULTS // 5), SEED, WEIGHTS)
        history = await run.go()
    verdict = check(history)
    with capsys.disabled():
        print(f"\n{len(pair.fail_overs)} fail-overs of PostgreSQL among {dict(run.injected.most_common())}")
        print(verdict, silence(history, pair.fail_overs), sep="\n")
    assert verdict.violations == []
    assert len(pair.fail_overs) > 3
    assert verdict.counts.get("writes ok", 0) > 0


@pytest.mark.cluster
async def test_a_primary_that_comes_back_unfenced_is_told_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_pair(fences=False) as pair:
        history = await ClusterRun(pair, tmp_path, 8, 12, SEED, {"PostgreSQL restart": 50, "SIGKILL": 30}).go()
    verdict = check(history)
    with capsys.disabled():
        print(f"\n{len(pair.fail_overs)} primaries came back beside the one in their place", verdict, sep="\n")
    assert verdict.violations == []
    assert pair.fail_overs
    assert verdict.counts.get("writes ok", 0) > 0


def silence(history: History, fail_overs: list[FailOver]) -> str:
    """How long after each promotion something was written again, whichever other fault there was."""
    written = sorted(each.ended for each in history.operations if each.wrote is not None and each.outcome == "ok")
    waits = sorted(
        next((ended - each.promoted for ended in written if ended > each.promoted), float("inf")) for each in fail_overs
    )
    middle, worst = waits[len(waits) // 2], waits[-1]
    return f"first write after a promotion: {middle:.2f} s in the middle, {worst:.2f} s at most"

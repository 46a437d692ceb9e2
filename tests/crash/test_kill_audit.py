"""Processes that are killed and disks that are full: whatever was answered stands in the audit.

Covers ops.audit.chain.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ops.audit.verification import verify
from tests.crash.child import strace
from tests.crash.mounts import mounting, run_on_small_disk
from tests.crash.work import opened

ROOT = Path(__file__).resolve().parents[2]
SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))


def _worker(data: Path, start: int, count: int, under: Sequence[str] = ()) -> subprocess.Popen[str]:
    command = [*under, sys.executable, "-m", "tests.crash.work", "store", str(data), str(start), str(count)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def _answered(lines: str) -> set[str]:
    return {id_ for line in lines.splitlines() if line.count(" ") == 1 for _, id_ in [line.split()] if "-" in id_}


async def _recorded(data: Path) -> set[str]:
    """Memories that the chain says were stored; the chain itself is whole."""
    async with opened(data) as services:
        chain = services.audit.chain(services.registry_cache.entry("main").vault_id)
        reports = await verify(services.audit)
        assert all(each.ok for each in reports), reports
        rows = await chain.read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
    said = [json.loads(body) for (body,) in rows]
    return {change[1] for each in said if each["outcome"] == "ok" for change in each.get("changes", ())}


@pytest.mark.crash
async def test_what_was_answered_before_a_kill_stands_in_the_audit(tmp_path: Path) -> None:
    answered: set[str] = set()
    for round_, after in enumerate((1, 9, 30)):
        worker = _worker(tmp_path, 100 * round_, 100)
        assert worker.stdout is not None
        lines = [worker.stdout.readline() for _ in range(after)]
        os.killpg(worker.pid, signal.SIGKILL)
        rest, _ = worker.communicate()
        answered |= _answered("".join(lines) + rest)
        assert answered <= await _recorded(tmp_path)
    assert len(answered) >= 40


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync,fsync"])
async def test_a_kill_at_any_write_leaves_no_answer_without_its_entry(tmp_path: Path, call: str) -> None:
    kills = 0
    for point in range(1, 4 * SWEEP, 4):
        data = tmp_path / f"{call}-{point}"
        seeded, _ = _worker(data, 0, 2).communicate()
        inject = f"inject={call}:signal=KILL:when={point}"
        under = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
        output, _ = _worker(data, 50, 12, under).communicate()
        assert _answered(seeded) | _answered(output) <= await _recorded(data), point
        shutil.rmtree(data)
        if "closed" in output:
            break
        kills += 1
    assert kills, "the sweep killed nothing: is the call still made?"


@pytest.mark.crash
@mounting
def test_changes_stop_while_the_audits_disk_is_full_and_go_on_by_themselves(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "audit").parent.mkdir()
    lines = run_on_small_disk(data / "audit", f"{sys.executable} -m tests.crash.audit_disk {data}", size="2m")
    assert {each["code"] for each in lines} == {None, "audit_unavailable"}
    for each in lines:
        assert each["read"], each
        assert each["there"] == (each["code"] is None or each["done"]), each
        assert each["disk"] == "full" or each["code"] is None, each
        assert each["failing"] == (each["code"] is not None), each
    done = [each for each in lines if each["done"]]
    assert len(done) <= len([each for each in lines if each["disk"] == "roomy again"])
    assert len([each for each in lines if each["code"]]) > 20

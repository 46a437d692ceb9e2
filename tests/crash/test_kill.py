"""Processes killed for real. The quick tests run always; the sweeps over every system call are `make crash`."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.oracle import check
from tests.crash.work import NOT_AUDITED, opened, store

ROOT = Path(__file__).resolve().parents[2]
SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far
"""Kill points tried per system call in a sweep."""


def _worker(kind: str, data: Path, start: int = 0, count: int = 12, under: Sequence[str] = ()) -> subprocess.Popen[str]:
    command = [*under, sys.executable, "-m", "tests.crash.work", kind, str(data), str(start), str(count)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def _acknowledged(lines: str) -> dict[int, str]:
    pairs = (line.split() for line in lines.splitlines() if line.count(" ") == 1)
    return {int(number): code for number, code in pairs if number.isdigit()}


async def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    acknowledged: dict[int, str] = {}
    for round_, after in enumerate((1, 7, 18)):
        worker = _worker("store", tmp_path, start=100 * round_, count=100)
        assert worker.stdout is not None
        lines = [await asyncio.to_thread(worker.stdout.readline) for _ in range(after)]
        os.killpg(worker.pid, signal.SIGKILL)
        rest, _ = worker.communicate()
        acknowledged |= _acknowledged("".join(lines) + rest)
        contents = await check(tmp_path, acknowledged)
        whole = {f"memory{number} of the harbour word{number}" for number in range(400)}
        assert contents <= whole
    assert len(acknowledged) >= 26


async def test_a_holder_of_the_lease_that_is_killed_frees_it(tmp_path: Path) -> None:
    worker = _worker("store", tmp_path, count=400)
    assert worker.stdout is not None
    await asyncio.to_thread(worker.stdout.readline)
    async with opened(tmp_path) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert not vault.lease.held
            await store(services, 1000, 2)
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
            assert vault.lease.try_acquire()


strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def _injecting(call: str, what: str, when: str) -> list[str]:
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={when}"]


@pytest.mark.crash
@strace
@pytest.mark.parametrize(
    ("kind", "call"),
    [("store", "pwrite64"), ("store", "fsync"), ("store", "rename"), ("change", "pwrite64"), ("change", "fsync")],
)
async def test_a_kill_at_any_write_leaves_each_memory_whole_or_absent(tmp_path: Path, kind: str, call: str) -> None:
    kills = 0
    for point in range(1, SWEEP + 1):
        data = tmp_path / f"{kind}-{call}-{point}"
        before: dict[int, str] = {}
        if kind == "change":
            seeded, _ = _worker("store", data).communicate()
            before = _acknowledged(seeded)
        worker = _worker(kind, data, under=_injecting(call, "signal=KILL", str(point)))
        output, _ = worker.communicate()
        if "closed" in output:
            break
        kills += 1
        if not (data / "control.db").exists():
            continue
        contents = await check(data, _acknowledged(output) if kind == "store" else {})
        if kind == "change":
            # Nine memories, each the old text, the new text, or purged; none half of one.
            for text in contents:
                assert text.removesuffix(" changed").split()[0].startswith(("memory", "successor")), text
            assert len(contents) >= len(before) - 3
        shutil.rmtree(data)
    assert kills, "the sweep killed nothing: is the call still made?"


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync"])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
async def test_a_disk_that_fails_is_reported_and_nothing_false_is_acknowledged(
    tmp_path: Path, call: str, error: str
) -> None:
    codes: set[str] = set()
    for point in range(1, 5 * SWEEP, 5):
        data = tmp_path / f"{call}-{error}-{point}"
        seeded, _ = _worker("store", data, count=4).communicate()
        worker = _worker("store", data, start=50, count=8, under=_injecting(call, f"error={error}", f"{point}+"))
        output, _ = worker.communicate()
        said = _acknowledged(output)
        codes |= {code for code in said.values() if "-" not in code}
        good = {number: code for number, code in said.items() if "-" in code}
        contents = await check(data, _acknowledged(seeded) | good)
        for number in (number for number, code in said.items() if code == NOT_AUDITED):
            assert any(text.startswith(f"memory{number} ") for text in contents), number
        shutil.rmtree(data)
    assert codes <= {"storage_full", "vault_unavailable", "vault_quarantined", "read_only", NOT_AUDITED}, codes


@pytest.mark.crash
@strace
async def test_an_answer_follows_the_fsync_of_what_it_promises(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    under = ["strace", "-f", "-qq", "-o", str(trace), "-e", "trace=fsync,pwrite64,write", "-s", "80"]
    worker = _worker("store", tmp_path / "data", count=4, under=under)
    output, _ = worker.communicate()
    assert len(_acknowledged(output)) == 4
    lines = trace.read_text().splitlines()
    answers = [n for n, line in enumerate(lines) if "write(1" in line and "-7" in line]
    assert answers
    first = answers[0]
    writes = [n for n, line in enumerate(lines[:first]) if "pwrite64" in line]
    syncs = [n for n, line in enumerate(lines[:first]) if "fsync" in line]
    assert syncs
    assert max(syncs) > max(n for n in writes if n < max(syncs))

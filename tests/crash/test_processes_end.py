"""Processes that end, politely or not: what they claimed is free in time, what they acknowledged stays."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash.piped import PROGRAM_PATIENCE_S, Piped
from tests.crash.serving_process import serving

STALE_S = 4.0
QUICK = {"STRONGROOM_SESSIONS__STALE_S": str(STALE_S), "STRONGROOM_SESSIONS__HEARTBEAT_S": "0.3"}
BURST = 40
"""Acknowledgements after which the server is told to stop."""


@contextmanager
def two(folder: Path) -> Iterator[tuple[Piped, Piped]]:
    """One that has claimed a file, and another that sees it."""
    one, other = Piped(folder, **QUICK), Piped(folder, **QUICK)
    try:
        one("claims", action="claim", resources=["src/db.ts"])
        assert other.claimed() == {"src/db.ts"}
        yield one, other
    finally:
        for each in (one, other):
            each.process.kill()
            each.process.communicate()


def _until(holds: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < PROGRAM_PATIENCE_S


def test_claims_of_a_living_process_stay_and_of_a_killed_one_go_in_time(tmp_path: Path) -> None:
    with two(tmp_path) as (one, other):
        began = time.monotonic()
        while time.monotonic() - began < 1.2 * STALE_S:  # it is silent, but its heart beats
            assert other.claimed() == {"src/db.ts"}
        one.end(signal.SIGKILL)
        _until(lambda: not other.claimed())
        (left,) = [each for each in other("session_history")["sessions"] if each["status"] == "paused"]
        assert left["ended_at"] == left["seen_at"]
        assert other("claims", action="claim", resources=["src/db.ts"])["claims"][0]["yours"]


def test_claims_of_a_process_that_is_told_to_end_are_free_at_once(tmp_path: Path) -> None:
    with two(tmp_path) as (one, other):
        assert one.end(signal.SIGTERM) == 0
        assert not other.claimed()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.crash)])
async def test_a_server_told_to_stop_in_the_midst_of_saves_keeps_all_it_acknowledged(
    tmp_path: Path, workers: int
) -> None:
    async with serving(tmp_path / "data", workers) as server:
        memories: set[str] = set()
        saved: set[str] = set()
        enough = asyncio.Event()

        async def work(name: str) -> None:
            async with server.http() as http:
                for n in range(1000):
                    claimed = await server.call(http, "claims", name, action="claim", resources=[f"{name}/{n}"])
                    stored = await server.call(http, "remember", name, content=f"fact {n} of {name}")
                    memories.update({stored["id"]} if "id" in stored else ())
                    done = await server.call(http, "session_save", name, summary=f"{name} {n}", status="completed")
                    saved.update({done["session"]["id"]} if "session" in done else ())
                    assert "error" not in claimed
                    if len(saved) >= BURST:
                        enough.set()

        storm = [asyncio.create_task(work(f"agent{n}")) for n in range(6)]
        async with asyncio.timeout(PROGRAM_PATIENCE_S):
            await enough.wait()
        server.process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(server.process.wait, PROGRAM_PATIENCE_S)
        await asyncio.gather(*storm, return_exceptions=True)
    assert code == 0
    assert memories <= {row[0] for row in server.rows("SELECT id FROM memories")}
    assert saved <= {row[0] for row in server.rows("SELECT id FROM sessions WHERE status = 'completed'")}
    assert not server.rows("SELECT id FROM sessions WHERE status = 'active'")
    assert not server.rows("SELECT resource FROM claims")
    assert server.rows("PRAGMA integrity_check") == [("ok",)]
